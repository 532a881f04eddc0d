"""How grep and find look."""

from __future__ import annotations

from collections.abc import Sequence

from piolet.app.renderers.files import listing
from piolet.app.renderers.view import (
    OUTPUT,
    PATH,
    ToolRenderer,
    ToolView,
    call_line,
    number_arg,
    path_arg,
    text_arg,
)
from piolet.tui.blocks.frame import Frame
from piolet.tui.spans import Line, Span

GREP_ROWS, FIND_ROWS = 15, 20


def _grep_call(view: ToolView, frame: Frame) -> Sequence[Line]:
    pattern = text_arg(view, "pattern", PATH)
    slashed = Span(f"/{pattern.text}/", PATH) if pattern.style == PATH else pattern
    spans = [slashed, Span(f" in {path_arg(view, default='.').text}", OUTPUT)]
    if isinstance(view.args.get("glob"), str):
        spans.append(Span(f" ({text_arg(view, 'glob').text})", OUTPUT))
    limit = number_arg(view, "limit")
    if limit is not None:
        spans.append(Span(f" limit {limit}", OUTPUT))
    return call_line(frame, "grep", *spans)


def _grep_body(view: ToolView, frame: Frame) -> Sequence[Line]:
    return listing(view, frame, GREP_ROWS)


def _find_call(view: ToolView, frame: Frame) -> Sequence[Line]:
    limit = number_arg(view, "limit")
    suffix = f" (limit {limit})" if limit is not None else ""
    where = f" in {path_arg(view, default='.').text}{suffix}"
    return call_line(frame, "find", text_arg(view, "pattern", PATH), Span(where, OUTPUT))


def _find_body(view: ToolView, frame: Frame) -> Sequence[Line]:
    return listing(view, frame, FIND_ROWS)


GREP = ToolRenderer(_grep_call, _grep_body)
FIND = ToolRenderer(_find_call, _find_body)
