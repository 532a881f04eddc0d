"""Tools take one line each, without a box; what they gave is seen when everything is unfolded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from piolet.ext import ExtensionAPI, ToolSlots, UiTheme, text_of

#: What is said of a call: the tool's name, and of its arguments the one that tells most.
TELLING = {"bash": "command", "read": "path", "write": "path", "edit": "path", "ls": "path", "grep": "pattern"}


def resolve(name: str, next: Callable[[], ToolSlots]) -> ToolSlots:
    def call(args: Mapping[str, Any], options: Any, theme: UiTheme) -> str:
        mark = theme.fg("accent", "…") if options.is_partial else theme.fg("success", "✓")
        what = str(args.get(TELLING.get(name, ""), "")).split("\n")[0]
        return f"{theme.fg('error', '✗') if options.is_error else mark} {theme.bold(name)} {theme.fg('dim', what)}"

    def result(result: Any, options: Any, theme: UiTheme) -> str:
        return theme.fg("toolOutput", text_of(result.content)) if options.expanded or options.is_error else ""

    return ToolSlots(call, result, "self")


def extension(pi: ExtensionAPI) -> None:
    pi.register_tool_renderer(resolve)
