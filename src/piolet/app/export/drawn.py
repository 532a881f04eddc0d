"""What extensions draw of a session, for the page: lines of spans in the tokens of the theme, folded and expanded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from piolet.app.extensions.runner import ExtensionRunner
from piolet.app.renderers.by_extensions import Renderers, ToolRenderers
from piolet.app.renderers.view import ToolRenderer, ToolView
from piolet.base.ids import parse_time
from piolet.harness.hooks import HookFailure, Hooks
from piolet.harness.messages import CustomMessage
from piolet.harness.session.entries import CustomEntry, CustomMessageEntry, MessageEntry
from piolet.harness.session.session import Session
from piolet.llm.messages import AssistantMessage, ToolCall, ToolResultMessage, text_of
from piolet.tui.blocks.frame import Frame
from piolet.tui.spans import Color, Line, Style
from piolet.tui.theme import TOKENS
from piolet.tui.theme_color import rgb
from piolet.tui.ui_theme import UiTheme

WIDTH = 100
_FOLDED, _EXPANDED = (Frame(WIDTH, expanded=expanded, padding=0, hyperlinks=False) for expanded in (False, True))
#: A colour of its own for every token, by which the token is known again in what an extension has drawn.
_MARKS = {token: f"#0101{number:02x}" for number, token in enumerate(TOKENS)}
_TOKENS = {mark: token for token, mark in _MARKS.items()}


class _Paper:
    """Where extensions draw for a page. What raises is reported, and drawn as if nobody had offered to."""

    def __init__(self, hooks: Hooks) -> None:
        self.theme = UiTheme(_MARKS, hyperlinks=False)
        self._hooks = hooks

    def attempt(self, owner: object, call: Callable[[], Any]) -> Any:
        try:
            return call()
        except Exception as error:
            self._hooks.report(HookFailure("export", owner, None, error, 0))
            return None


def drawn(session: Session, extensions: ExtensionRunner) -> dict[str, Any]:
    """Return what the extensions draw: by the id of the tool call or of the entry, lines as `as_json` gives them."""
    if not extensions.extensions:
        return {}
    paper = _Paper(extensions.runtime.hooks)
    renderers = Renderers(extensions, paper)
    tools = ToolRenderers(renderers, extensions, paper)
    calls: dict[str, ToolCall] = {}
    shown: dict[str, Any] = {}

    def draw_call(call: ToolCall, result: ToolResultMessage | None) -> Any:
        owner = extensions.drawing.tool_slots(call.name).owner
        view = _view(call, result, session.cwd)
        return paper.attempt(owner, lambda: _call(tools[call.name], view))

    for entry in session.entries:
        match entry:
            case MessageEntry(message=AssistantMessage() as message):
                calls.update((call.id, call) for call in message.tool_calls if tools.drawn_by_extensions(call.name))
            case MessageEntry(message=ToolResultMessage(tool_call_id=id) as message) if id in calls:
                shown[id] = draw_call(calls.pop(id), message)
            case CustomMessageEntry():
                time = parse_time(entry.timestamp) or 0
                custom = CustomMessage(entry.custom_type, entry.content, entry.display, time, entry.details)
                shown[entry.id] = _twice(partial(renderers.message, custom))
            case CustomEntry():
                shown[entry.id] = _twice(partial(renderers.entry, entry))
    for id, call in calls.items():  # without a result
        shown[id] = draw_call(call, None)
    return {id: lines for id, lines in shown.items() if lines is not None}


def _view(call: ToolCall, result: ToolResultMessage | None, cwd: str) -> ToolView:
    return ToolView(
        name=call.name,
        args=call.arguments,
        state="running" if result is None else "done",
        text="" if result is None else text_of(result.content, "\n"),
        details=None if result is None else result.details,
        is_error=result is not None and result.is_error,
        cwd=cwd,
    )


def _call(renderer: ToolRenderer, view: ToolView) -> dict[str, Any]:
    body = _twice(partial(renderer.body, view))
    return {"call": as_json(renderer.call(view, _FOLDED)), "boxed": renderer.boxed, **(body or {})}


def _twice(draw: Callable[[Frame], Sequence[Line] | None]) -> dict[str, Any] | None:
    folded, expanded = draw(_FOLDED), draw(_EXPANDED)
    if folded is None or expanded is None:
        return None
    return {"folded": as_json(folded), "expanded": as_json(expanded)}


def as_json(lines: Sequence[Line]) -> list[list[Any]]:
    """Return lines as lists of spans: the text, and what its style says (tokens or ``#rrggbb`` for colours)."""
    return [[[text, _style(style)] for text, style in line] for line in lines]


def _style(style: Style) -> dict[str, Any]:
    said: dict[str, Any] = {
        name: True for name in ("bold", "dim", "italic", "underline", "strike", "reverse") if getattr(style, name)
    }
    for name, color in (("fg", style.fg), ("bg", style.bg)):
        if color is not None and color != "":
            said[name] = _color(color)
    return said


def _color(color: Color) -> str:
    if isinstance(color, int):
        return rgb(color).hex
    return _TOKENS.get(color, color)
