"""The head of the transcript: logo and version, hints or the full list of keys."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter

from piolet.tui.blocks.frame import DIM, MUTED, Frame, inset, joined
from piolet.tui.spans import BLANK, Line, Span, Style, line_width, pad, row, wrap
from piolet.tui.text import width as width_of

_LOGO, _KEY = Style("accent", bold=True), Style("dim")
_LEAST = 12  # cells of a column that text is broken in


@dataclass(frozen=True, slots=True)
class HeaderView:
    """`hints`: (keys, what they do), shown in a line; `keys`: (group, keys, what they do), the full list that takes its
    place."""

    name: str
    version: str
    hints: Sequence[tuple[str, str]] = ()
    keys: Sequence[tuple[str, str, str]] = ()
    tip: str = ""


def header_lines(view: HeaderView, frame: Frame) -> list[Line]:
    """Return the header; `frame.expanded` shows all keys."""
    limit = frame.text_width
    logo = wrap((Span(view.name, _LOGO), Span(f" v{view.version}", DIM)), limit)
    if frame.expanded:
        groups = [logo, *_key_groups(view.keys, limit)]
    else:
        groups = [[*logo, *_hint_lines(view.hints, limit)], wrap(row(view.tip, DIM), limit) if view.tip else []]
    return inset(joined(*groups), frame)


def _hint_lines(hints: Sequence[tuple[str, str]], limit: int) -> list[Line]:
    """Return the hints in as few rows as they need, none of them broken where a row can hold it."""
    rows: list[Line] = []
    for keys, text in hints:
        hint: Line = (Span(keys, _KEY), Span(f" {text}", MUTED))
        longer = (*rows[-1], Span(" · ", MUTED), *hint) if rows else hint
        if line_width(longer) > limit:
            rows.append(hint)
        else:
            rows[-1:] = [longer]
    return [line for source in rows for line in wrap(source, limit)]


def _key_groups(keys: Sequence[tuple[str, str, str]], limit: int) -> Iterator[list[Line]]:
    """Give the lines of each group; what a key does is broken in its column where there is one."""
    widest = max((width_of(names) for _, names, _ in keys), default=0) + 2
    column, indent = (limit - widest, " " * widest) if limit - widest >= _LEAST else (limit, "")
    for group, members in groupby(keys, itemgetter(0)):
        lines = wrap(row(group, MUTED), limit)
        for _, names, text in members:
            first, *more = wrap(row(text, MUTED), column) or [BLANK]
            lines += wrap((*pad(row(names, _KEY), widest), *first), limit)
            lines += [(Span(indent), *line) for line in more]
        yield lines
