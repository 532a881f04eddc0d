"""Puts drawings onto a screen and takes them away, or into scrollback for good. Pure: it gives sequences.

Where a picture is, the cells of the screen are blank. Terminals of the Kitty protocol keep pictures apart from the
cells: they are told what to take away. With the others what is written into the cells takes the picture away, and it is
drawn again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol, TypeAlias

from piolet.tui.image_protocols import kitty_forget, kitty_hide, kitty_send, kitty_show
from piolet.tui.picture_drawing import Drawing, Sheet, Stripes
from piolet.tui.pictures import free_number
from piolet.tui.spans import PictureRow

#: By the rows of a screen or a text: the column where a row of a picture begins, and which row of which picture.
PictureRows: TypeAlias = Mapping[int, tuple[int, PictureRow]]
#: Returns the drawing of a picture; None while there is none.
Drawings: TypeAlias = Callable[[PictureRow], Drawing | None]

_KEEP, _BACK = "\x1b7", "\x1b8"


class Stretch(NamedTuple):
    """Rows of one picture below each other, which begin at a row and a column."""

    y: int
    x: int
    first: PictureRow
    rows: int


def stretches(pictures: PictureRows, limit: int | None = None) -> Iterator[Stretch]:
    """Yield `pictures` in as few stretches as there can be, of at most `limit` rows."""
    open_: Stretch | None = None
    for y in sorted(pictures):
        x, row = pictures[y]
        if open_ is not None:
            y0, x0, first, count = open_
            if count != limit and (y, x, row) == (y0 + count, x0, first._replace(row=first.row + count)):
                open_ = Stretch(y0, x0, first, count + 1)
                continue
            yield open_
        open_ = Stretch(y, x, row, 1)
    if open_ is not None:
        yield open_


class Painter(Protocol):
    """Knows what of pictures is on a screen."""

    def paint(self, pictures: PictureRows, drawings: Drawings, written: Container[int]) -> str:
        """Return what brings `pictures`, and no others, onto the screen, in whose rows `written` cells were written."""

    def forget(self, alive: Callable[[int], bool]) -> str:
        """Return what frees what the terminal keeps of pictures that are not alive any more."""


class SheetPainter:
    """For the Kitty graphics protocol."""

    def __init__(self) -> None:
        self._sent: dict[int, Sheet] = {}
        self._shown: dict[tuple[int, int], Stretch] = {}

    def paint(self, pictures: PictureRows, drawings: Drawings, written: Container[int]) -> str:
        before, self._shown = self._shown, {}
        parts: list[str] = []
        places = Counter[int]()
        for stretch in stretches(pictures):
            number = stretch.first.number
            sheet = drawings(stretch.first)
            if not isinstance(sheet, Sheet):
                continue
            if self._sent.get(number) is not sheet:
                self._sent[number] = sheet
                parts.append(kitty_send(number, sheet.png))
                before = {key: shown for key, shown in before.items() if key[0] != number}
            places[number] += 1
            key = number, places[number]
            self._shown[key] = stretch
            if before.pop(key, None) != stretch or any(stretch.y + at in written for at in range(stretch.rows)):
                parts.append(f"\x1b[{stretch.y + 1};{stretch.x + 1}H{show(sheet, stretch, number, places[number])}")
        return "".join([kitty_hide(*key) for key in before] + parts)

    def forget(self, alive: Callable[[int], bool]) -> str:
        gone = [number for number in self._sent if not alive(number)]
        self._shown = {key: shown for key, shown in self._shown.items() if key[0] not in gone}
        for number in gone:
            del self._sent[number]
        return "".join(map(kitty_forget, gone))


def show(sheet: Sheet, stretch: Stretch, number: int, place: int) -> str:
    """Return what shows rows of a picture, sent as `number`, at the cursor."""
    first, rows = stretch.first, stretch.rows
    top, bottom = (sheet.height * row // first.rows for row in (first.row, first.row + rows))
    return kitty_show(number, place, (first.columns, rows), (0, top, sheet.width, bottom - top))


class StripePainter:
    """For protocols that draw into the cells."""

    def __init__(self) -> None:
        self._shown: dict[int, tuple[int, Stripes, int]] = {}

    def paint(self, pictures: PictureRows, drawings: Drawings, written: Container[int]) -> str:
        before, self._shown = self._shown, {}
        parts: list[str] = []
        for y, (x, row) in pictures.items():
            stripes = drawings(row)
            if isinstance(stripes, Stripes):
                shown = self._shown[y] = x, stripes, row.row
                if y in written or before.get(y) != shown:
                    parts.append(f"\x1b[{y + 1};{x + 1}H{stripes.rows[row.row]}")
        return "".join(parts)

    def forget(self, alive: Callable[[int], bool]) -> str:
        return ""


def with_pictures(lines: Sequence[str], pictures: PictureRows, drawings: Drawings, height: int) -> str:
    """Return whole `lines` with the pictures over them, to be written into the scrollback of a terminal of `height`
    rows from the beginning of a row on."""
    parts = [f"{line}\n" for line in lines]
    sent: dict[int, int] = {}
    for stretch in stretches(pictures, max(1, height - 1)):
        drawing = drawings(stretch.first)
        last = stretch.y + stretch.rows - 1
        if isinstance(drawing, Sheet):
            picture = stretch.first.number
            if picture not in sent:
                sent[picture] = free_number()
                parts[last] += kitty_send(sent[picture], drawing.png)
            parts[last] += _upwards(stretch.rows, stretch.x, show(drawing, stretch, sent[picture], last + 1))
        elif drawing is not None:
            for at in range(stretch.rows):
                parts[stretch.y + at] += _upwards(1, stretch.x, drawing.rows[stretch.first.row + at])
    return "".join(parts)


def _upwards(count: int, column: int, sequence: str) -> str:
    """Return `sequence` drawn so many rows higher; the cursor stays."""
    right = f"\x1b[{column}C" if column else ""
    return f"{_KEEP}\x1b[{count}A\r{right}{sequence}{_BACK}"
