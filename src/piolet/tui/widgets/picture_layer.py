"""The pictures over the cells of the screen: drawn in threads, put there with each frame."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Container, Iterable, Sequence
from typing import TypeAlias

from piolet.tui.picture_drawing import Drawing, Undrawable, draw
from piolet.tui.picture_painter import Painter, PictureRows, SheetPainter, StripePainter, with_pictures
from piolet.tui.pictures import CELL, Album, Picture
from piolet.tui.spans import Line, PictureRow, picture_in
from piolet.tui.terminal_caps import ImageProtocol

KEPT = 64  # drawings; more than there is room for on a screen

_Key: TypeAlias = tuple[int, int, int, ImageProtocol, tuple[int, int]]


class PictureLayer:
    """Draws the pictures of an album. `arrived()` is called when there is one drawing more, `failed(picture)` when a
    picture turns out to be one that cannot be drawn."""

    def __init__(self, album: Album, arrived: Callable[[], None], failed: Callable[[Picture], None]) -> None:
        self._album = album
        self._arrived, self._failed = arrived, failed
        self._protocol: ImageProtocol = "none"
        self._cell = CELL
        self._painter: Painter = StripePainter()
        self._drawings: dict[_Key, Drawing] = {}
        self._tasks: dict[_Key, asyncio.Task[None]] = {}

    @property
    def active(self) -> bool:
        """Whether the terminal can draw."""
        return self._protocol != "none"

    def use(self, protocol: ImageProtocol, cell: tuple[int, int]) -> str:
        """Draw by a protocol, in cells of so many pixels; return what takes away what was drawn by another."""
        erased = ""
        if protocol != self._protocol:
            erased = self.erase()
            self._painter = SheetPainter() if protocol == "kitty" else StripePainter()
        self._protocol, self._cell = protocol, cell
        return erased

    def paint(self, pictures: PictureRows, written: Container[int]) -> str:
        """Return what brings `pictures` onto the screen, in whose rows `written` cells were written."""
        painted = self._painter.paint(pictures, self._drawing, written)
        return painted + self._painter.forget(lambda number: self._album.get(number) is not None)

    def erase(self) -> str:
        """Return what takes all of them away, and frees what the terminal keeps."""
        return self._painter.paint({}, self._drawing, ()) + self._painter.forget(lambda number: False)

    def over(self, texts: Sequence[str], lines: Sequence[Line], height: int) -> str:
        """Return `texts`, the whole rows that show `lines`, with the pictures over them: for good, into the scrollback
        of a terminal of so many rows."""
        rows = {y: at for y, line in enumerate(lines) if (at := picture_in(line)) is not None}
        return with_pictures(texts, rows, self._drawing, height)

    def has_all(self, lines: Iterable[Line]) -> bool:
        """Whether all pictures in `lines` are drawn; what is not will be."""
        wanted = {at[1]._replace(row=0) for line in lines if (at := picture_in(line)) is not None}
        missing = [row for row in wanted if self._drawing(row) is None]
        return not missing

    def _drawing(self, row: PictureRow) -> Drawing | None:
        """Return the drawing of a picture; None, and it is drawn, if there is none yet."""
        key = row.number, row.columns, row.rows, self._protocol, self._cell
        drawing = self._drawings.pop(key, None)
        if drawing is not None:
            self._drawings[key] = drawing  # the last one used is the last one to go
        elif key not in self._tasks and (picture := self._album.get(row.number)) is not None:
            self._tasks[key] = asyncio.create_task(self._draw(picture, key))
        return drawing

    async def _draw(self, picture: Picture, key: _Key) -> None:
        _, columns, rows, protocol, cell = key
        try:
            if protocol != "none" and not picture.broken:
                self._drawings[key] = await asyncio.to_thread(draw, picture.data, columns, rows, cell, protocol)
        except Undrawable:
            picture.broken = True
            self._failed(picture)
            return
        finally:
            del self._tasks[key]
        while len(self._drawings) > KEPT:
            self._drawings.pop(next(iter(self._drawings)))
        self._arrived()
