"""Styled lines, independent of any toolkit: a line is a tuple of spans, a span is text with a style.

A style names colours by theme token, so that a line outlives a change of theme. Lines hold no line feeds, tabs or
controls; who makes spans from foreign text makes it safe first (`piolet.tui.text`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from piolet.tui import text as cells

#: A theme token (``accent``), ``#rrggbb``, or an index 0-255 of the terminal's palette.
Color: TypeAlias = str | int


class PictureRow(NamedTuple):
    """A row of a picture: the picture's number, the cells that it takes as a whole, and which row of them it is."""

    number: int
    columns: int
    rows: int
    row: int


class Style(NamedTuple):
    """How text looks; what is None, False or empty is left to what lies beneath. `picture`: what is drawn over it where
    the terminal can draw; the text is blanks then."""

    fg: Color | None = None
    bg: Color | None = None
    bold: bool = False
    dim: bool = False
    italic: bool = False
    underline: bool = False
    strike: bool = False
    reverse: bool = False
    link: str = ""
    picture: PictureRow | None = None

    def over(self, base: Style) -> Style:
        """Return this style laid over `base`."""
        return _over(self, base)


@lru_cache(4096)
def _over(style: Style, base: Style) -> Style:
    if base == PLAIN:
        return style
    return Style(
        base.fg if style.fg is None else style.fg,
        base.bg if style.bg is None else style.bg,
        style.bold or base.bold,
        style.dim or base.dim,
        style.italic or base.italic,
        style.underline or base.underline,
        style.strike or base.strike,
        style.reverse or base.reverse,
        style.link or base.link,
        style.picture or base.picture,
    )


PLAIN = Style()


class Span(NamedTuple):
    """A run of text in one style."""

    text: str
    style: Style = PLAIN


Line: TypeAlias = tuple[Span, ...]
BLANK: Line = ()


def row(text: str, style: Style = PLAIN) -> Line:
    """Return a line of one style."""
    return (Span(text, style),) if text else BLANK


def line_text(line: Iterable[Span]) -> str:
    """Return the characters of `line`."""
    return "".join(span.text for span in line)


def line_width(line: Iterable[Span]) -> int:
    """Return the cells that `line` takes."""
    return sum(cells.width(span.text) for span in line)


def picture_in(line: Iterable[Span]) -> tuple[int, PictureRow] | None:
    """Return the cell where a row of a picture begins in `line`, and which row it is; None if there is none."""
    column = 0
    for text, style in line:
        if style.picture is not None:
            return column, style.picture
        column += cells.width(text)
    return None


def over(line: Iterable[Span], base: Style) -> Line:
    """Return `line` with `base` beneath every span."""
    return tuple(Span(text, style.over(base)) for text, style in line)


def merged(line: Iterable[Span]) -> Line:
    """Return `line` with neighbours of one style joined, and without empty spans."""
    spans: list[Span] = []
    for text, style in line:
        if spans and spans[-1].style == style:
            spans[-1] = Span(spans[-1].text + text, style)
        elif text:
            spans.append(Span(text, style))
    return tuple(spans)


def pad(line: Line, limit: int, style: Style = PLAIN) -> Line:
    """Return `line` filled up with blanks in `style` to `limit` cells; a wider line stays as it is."""
    missing = limit - line_width(line)
    return (*line, Span(" " * missing, style)) if missing > 0 else line


def part(line: Sequence[Span], start: int, end: int) -> Line:
    """Return the code points `start` to `end` of `line`."""
    spans: list[Span] = []
    at = 0
    for text, style in line:
        following = at + len(text)
        if following > start and at < end:
            piece = text[max(0, start - at) : end - at]
            if piece:
                spans.append(Span(piece, style))
        at = following
    return tuple(spans)


def clip(line: Line, limit: int, ellipsis: str = cells.ELLIPSIS) -> Line:
    """Return `line` cut to `limit` cells, ending in `ellipsis` if something was cut."""
    if line_width(line) <= limit:
        return line
    text = line_text(line)
    kept = cells.truncate(text, limit, ellipsis)
    mark = ellipsis if kept.endswith(ellipsis) else ""
    body = part(line, 0, len(kept) - len(mark))
    last = body[-1].style if body else (line[0].style if line else PLAIN)
    return (*body, Span(mark, last)) if mark else body


def overlay(line: Line, column: int, top: Line, limit: int) -> Line:
    """Return `line`, filled up to `limit` cells, with `top` drawn over it from `column` on."""
    line = pad(line, limit)
    text = line_text(line)
    end = column + line_width(top)
    left = pad(part(line, 0, cells.fit(text, column)), column)
    behind = cells.fit(text, end)
    if cells.width(text[:behind]) < end:  # a wide character of which only the right half would be left
        behind += len(cells.graphemes(text[behind : behind + 64])[0])
    right = part(line, behind, len(text))
    missing = limit - end - line_width(right)
    return (*left, *top, *row(" " * missing), *right)


def wrap(line: Sequence[Span], limit: int) -> list[Line]:
    """Break `line` into rows of at most `limit` cells, at words; the blanks at a break are dropped."""
    if len(line) == 1:
        text, style = line[0]
        rows = [row(text[start:end], style) for start, end in cells.row_ranges(text, limit)]
    else:
        rows = [part(line, start, end) for start, end in cells.row_ranges(line_text(line), limit)]
    return rows if limit > 1 else [clip(piece, limit) for piece in rows]  # no wide character fits one cell


def columns(left: Line, right: Line, limit: int, gap: int = 2) -> Line:
    """Return one line with `left` at the left edge and `right` at the right edge; `left` is cut where they meet."""
    size = line_width(right)
    if not size:
        return clip(left, limit)
    if size > limit:
        return clip(right, limit)
    room = limit - size - gap
    left = clip(left, room) if room > 0 else BLANK
    return (*pad(left, limit - size), *right)
