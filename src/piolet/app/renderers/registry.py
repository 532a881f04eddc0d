"""Which renderer draws which tool, and the card of a call."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from piolet.app.renderers.files import EDIT, LS, READ, WRITE
from piolet.app.renderers.generic import GENERIC
from piolet.app.renderers.search import FIND, GREP
from piolet.app.renderers.shell import BASH
from piolet.app.renderers.view import OUTPUT, ToolRenderer, ToolView
from piolet.tui.blocks.frame import Frame, joined
from piolet.tui.blocks.pictures import picture_lines
from piolet.tui.blocks.tool_card import Card, card_lines
from piolet.tui.spans import Line

BUILT_IN: Mapping[str, ToolRenderer] = {
    "read": READ,
    "write": WRITE,
    "edit": EDIT,
    "bash": BASH,
    "grep": GREP,
    "find": FIND,
    "ls": LS,
}


def tool_lines(
    view: ToolView,
    frame: Frame,
    renderers: Mapping[str, ToolRenderer] = BUILT_IN,
    on_error: Callable[[str, Exception], None] | None = None,
) -> list[Line]:
    """Return the card of a call in rows of at most `frame.width` cells.

    `renderers`: those of extensions laid over the built-in ones. A renderer that raises is told to `on_error` with the
    tool's name, and the call is drawn as if the tool had none.
    """
    renderer = renderers.get(view.name, GENERIC)
    try:
        return _card(view, frame, renderer)
    except Exception as error:
        if on_error is not None:
            on_error(view.name, error)
        return _card(view, frame, GENERIC)


def _card(view: ToolView, frame: Frame, renderer: ToolRenderer) -> list[Line]:
    pictures = picture_lines(view.pictures, frame.box_width if renderer.boxed else frame.width, frame, OUTPUT)
    body = joined(renderer.body(view, frame), pictures)
    return card_lines(Card(renderer.call(view, frame), body, view.status, renderer.boxed), frame)
