"""How bash looks."""

from __future__ import annotations

from collections.abc import Sequence

from piolet.app.renderers.view import (
    ERROR,
    MUTED,
    OUTPUT,
    TITLE,
    WARNING,
    ToolRenderer,
    ToolView,
    number_arg,
    output_lines,
    split_notice,
)
from piolet.tui.blocks.folding import hint, last_rows
from piolet.tui.blocks.frame import Frame, joined, plain
from piolet.tui.spans import Line, Span, wrap

FOLDED_ROWS = 5


def _call(view: ToolView, frame: Frame) -> Sequence[Line]:
    command = view.args.get("command")
    if command is not None and not isinstance(command, str):
        return wrap((Span("$ ", TITLE), Span("[invalid arg]", ERROR)), frame.box_width)
    lines = plain(f"$ {command or '...'}", frame.box_width, TITLE)
    timeout = view.args.get("timeout")
    if number_arg(view, "timeout") is not None:
        *before, last = lines
        return [*before, *wrap((*last, Span(f" (timeout {timeout}s)", MUTED)), frame.box_width)]
    return lines


def _body(view: ToolView, frame: Frame) -> Sequence[Line]:
    text, notice = _without_file(view)
    return joined(_rows(text.rstrip(), frame), plain(notice, frame.box_width, WARNING) if notice else [], _time(view))


def _without_file(view: ToolView) -> tuple[str, str]:
    """Part the output from the notice that names the file with all of it; what follows the notice stays."""
    path = view.detail("fullOutputPath")
    if not isinstance(path, str):
        return view.text, ""
    head, found, rest = view.text.rpartition(f"Full output: {path}]")
    body, notice = split_notice(head + found)
    return (body + rest, notice) if found and notice else (view.text, "")


def _rows(text: str, frame: Frame) -> list[Line]:
    if not text:
        return []
    if frame.expanded:
        return output_lines(text, frame)
    rows, hidden = last_rows(text, FOLDED_ROWS, frame.box_width, OUTPUT)
    return [hint(f"{hidden} earlier lines", frame), *rows] if hidden else rows


def _time(view: ToolView) -> list[Line]:
    if view.seconds is None or view.state == "arguments":
        return []
    word = "Took" if view.state == "done" else "Elapsed"
    return [(Span(f"{word} {view.seconds:.1f}s", MUTED),)]


BASH = ToolRenderer(_call, _body)
