"""The head of the transcript: logo and version, hints or the full list of keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from piolet.tui.blocks.frame import DIM, MUTED, Frame, inset, joined
from piolet.tui.spans import Line, Span, Style, pad, row, wrap
from piolet.tui.text import width as width_of

_LOGO, _KEY = Style("accent", bold=True), Style("dim")


@dataclass(frozen=True, slots=True)
class HeaderView:
    """`hints`: (keys, what they do) of the one line; `keys`: the same for the full list that takes its place."""

    name: str
    version: str
    hints: Sequence[tuple[str, str]] = ()
    keys: Sequence[tuple[str, str]] = ()
    tip: str = ""


def header_lines(view: HeaderView, frame: Frame) -> list[Line]:
    """Return the header; `frame.expanded` shows all keys."""
    logo: Line = (Span(view.name, _LOGO), Span(f" v{view.version}", DIM))
    if frame.expanded:
        widest = max((width_of(keys) for keys, _ in view.keys), default=0)
        hints = [(*pad(row(keys, _KEY), widest + 2), Span(text, MUTED)) for keys, text in view.keys]
    else:
        hints = [_hint_line(view.hints)]
    tip = [row(view.tip, DIM)] if view.tip and not frame.expanded else []
    groups = [[line for source in group for line in wrap(source, frame.text_width)] for group in ([logo, *hints], tip)]
    return inset(joined(*groups), frame)


def _hint_line(hints: Sequence[tuple[str, str]]) -> Line:
    spans: list[Span] = []
    for keys, text in hints:
        if spans:
            spans.append(Span(" · ", MUTED))
        spans += (Span(keys, _KEY), Span(f" {text}", MUTED))
    return tuple(spans)
