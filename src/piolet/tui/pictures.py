"""Pictures in the transcript: which there are, and the cells that they take. Pure; what they look like is drawn by
`piolet.tui.picture_drawing`."""

from __future__ import annotations

import base64
import os
from dataclasses import dataclass
from functools import cached_property
from weakref import WeakValueDictionary

from piolet.tui.image_header import HEAD_BYTES, image_size
from piolet.tui.spans import PictureRow

#: Width and height in pixels of a cell, until the terminal tells its own.
CELL = (9, 18)


@dataclass(frozen=True, slots=True)
class PictureRoom:
    """The room for a picture in cells of a terminal that can draw: at most `columns` wide, and no taller than that."""

    columns: int = 60
    cell: tuple[int, int] = CELL

    def fit(self, size: tuple[int, int], width: int) -> tuple[int, int]:
        """Return the columns and rows that an image of `size` pixels takes where there are `width` columns: as large as
        there is room, in its own ratio (terminal specification, section 13)."""
        columns = max(1, min(self.columns, width))
        side, room = max(size), columns * self.cell[0]
        return _cells(room * size[0], side * self.cell[0]), _cells(room * size[1], side * self.cell[1])


def free_number() -> int:
    """Return a number for an image that nobody else on the terminal is likely to use."""
    return int.from_bytes(os.urandom(4), "big") >> 1 or 1


def _cells(pixels: int, cell: int) -> int:
    return max(1, -(-pixels // cell))


class Picture:
    """An image of a message. `number` is its own, also among those of other programs on the terminal."""

    def __init__(self, data: str, mime_type: str) -> None:
        """`data` is base64."""
        self.number = free_number()
        self.data = data
        self.mime_type = mime_type
        self.broken = False  # it was tried to draw it, in vain

    @cached_property
    def size(self) -> tuple[int, int] | None:
        """Width and height in pixels; None if the data does not tell."""
        for end in (HEAD_BYTES // 3 * 4, len(self.data)):
            try:
                size = image_size(base64.b64decode(self.data[:end]))
            except ValueError:
                return None
            if size is not None:
                return size
        return None

    @property
    def placeholder(self) -> str:
        """What stands for it where it cannot be drawn."""
        return f"[image: {self.mime_type} {self.size[0]}x{self.size[1]}]" if self.size else f"[image: {self.mime_type}]"

    def rows(self, room: PictureRoom | None, width: int) -> list[PictureRow]:
        """Return the rows that it takes where there are `width` columns; none if it cannot be drawn."""
        if room is None or self.size is None or self.broken:
            return []
        columns, rows = room.fit(self.size, width)
        return [PictureRow(self.number, columns, rows, row) for row in range(rows)]


class Album:
    """The pictures of a transcript, for as long as something shows them."""

    def __init__(self) -> None:
        self._by_number: WeakValueDictionary[int, Picture] = WeakValueDictionary()

    def add(self, picture: Picture) -> Picture:
        """Take in a picture; return it."""
        self._by_number[picture.number] = picture
        return picture

    def get(self, number: int) -> Picture | None:
        """Return the picture of a number; None if nothing shows it any more."""
        return self._by_number.get(number)
