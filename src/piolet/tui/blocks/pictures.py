"""How a picture takes its place among lines: as blank rows that it is drawn over, or as a line that tells of it."""

from __future__ import annotations

from collections.abc import Iterable

from piolet.tui.blocks.frame import Frame, plain
from piolet.tui.pictures import Picture
from piolet.tui.spans import Line, Style, row


def picture_lines(pictures: Iterable[Picture], width: int, frame: Frame, style: Style) -> list[Line]:
    """Return the rows of `pictures`, at most `width` cells wide; `style` is that of lines in place of them."""
    lines: list[Line] = []
    for picture in pictures:
        rows = picture.rows(frame.pictures, width)
        lines += [row(" " * part.columns, Style(picture=part)) for part in rows]
        lines += plain(picture.placeholder, width, style) if not rows else ()
    return lines
