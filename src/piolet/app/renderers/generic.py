"""How a tool without a renderer of its own looks."""

from __future__ import annotations

import json
from collections.abc import Sequence

from piolet.app.renderers.view import ERROR, OUTPUT, TITLE, ToolRenderer, ToolView, output_lines
from piolet.tui.blocks.folding import first_rows
from piolet.tui.blocks.frame import Frame, plain
from piolet.tui.spans import Line, Span, clip, wrap
from piolet.tui.text import one_line

FOLDED_ROWS = 10


def _call(view: ToolView, frame: Frame) -> Sequence[Line]:
    name = Span(one_line(view.name), TITLE)
    if frame.expanded and view.args:
        arguments = json.dumps(dict(view.args), indent=2, ensure_ascii=False, default=str)
        return [*wrap((name,), frame.box_width), *plain(arguments, frame.box_width, OUTPUT)]
    pairs = ", ".join(f"{one_line(key)}: {_value(value)}" for key, value in view.args.items())
    return [clip((name, Span(f" {pairs}", OUTPUT)) if pairs else (name,), frame.box_width)]


def _value(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return one_line(text)


def _body(view: ToolView, frame: Frame) -> Sequence[Line]:
    return first_rows(output_lines(view.text, frame, ERROR if view.is_error else OUTPUT), FOLDED_ROWS, frame)


GENERIC = ToolRenderer(_call, _body)
