"""Folding: the first or last rows of a long text, and the hint that tells how much is hidden and how to see it."""

from __future__ import annotations

from collections.abc import Sequence

from piolet.tui.blocks.frame import DIM, MUTED, Frame
from piolet.tui.spans import PLAIN, Line, Span, Style, row, wrap
from piolet.tui.text import expand_tabs, safe_for_terminal


def to_expand(frame: Frame) -> str:
    """Return how to unfold (``ctrl+o to expand``); empty if no key does it."""
    return f"{frame.expand_key} to expand" if frame.expand_key else ""


def titled(title: str, frame: Frame) -> str:
    """Return `title` with how to unfold behind it, unless it is unfolded."""
    return title if frame.expanded or not frame.expand_key else f"{title} ({to_expand(frame)})"


def hint(text: str, frame: Frame) -> Line:
    """Return the line ``... (text, ctrl+o to expand)``."""
    if not frame.expand_key:
        return row(f"... ({text})", MUTED)
    return (Span(f"... ({text}, ", MUTED), Span(frame.expand_key, DIM), Span(" to expand)", MUTED))


def first_rows(lines: Sequence[Line], limit: int, frame: Frame) -> list[Line]:
    """Return the first `limit` lines and how many are hidden; all when expanded."""
    hidden = len(lines) - limit
    if frame.expanded or hidden <= 0:
        return list(lines)
    return [*lines[:limit], hint(f"{hidden} more lines", frame)]


def last_rows(text: str, limit: int, width: int, style: Style = PLAIN) -> tuple[list[Line], int]:
    """Return the last `limit` rows of foreign `text` in `width` cells, and how many lines are hidden above them.

    The cost depends on the rows that are shown, so that a long output can be drawn again and again.
    """
    sources = text.split("\n")
    rows: list[Line] = []
    hidden = len(sources)
    while hidden and len(rows) < limit:
        hidden -= 1
        rows = wrap(row(expand_tabs(safe_for_terminal(sources[hidden])), style), width) + rows
    above = max(0, len(rows) - limit)
    return rows[above:], hidden + above
