"""A grid of cells on which lines join by themselves: each cell knows in which directions a line leaves it."""

from __future__ import annotations

from typing import Literal, TypeAlias

from piolet.tui.mermaid.source import Unreadable
from piolet.tui.spans import PLAIN, Line, Span, Style, merged
from piolet.tui.text import cells, width

Stroke: TypeAlias = Literal["solid", "dotted", "thick"]
Point: TypeAlias = tuple[int, int]  # x, y

MAX_EXTENT = 500  # rows and columns

_UP, _RIGHT, _DOWN, _LEFT = 1, 2, 4, 8
_LIGHT = " ╵╶└╷│┌├╴┘─┴┐┤┬┼"
_HEAVY = " ╹╺┗╻┃┏┣╸┛━┻┓┫┳╋"
_DOTTED = _LIGHT.replace("│", "┆").replace("─", "┄")
_SETS: dict[Stroke, str] = {"solid": _LIGHT, "thick": _HEAVY, "dotted": _DOTTED}
_WIRE = Style("mdCodeBlockBorder")


class Canvas:
    """Lines, and characters over them. It grows to the right and downwards with what is drawn; `Unreadable` is
    raised by what is too far out."""

    def __init__(self) -> None:
        self._exits: dict[Point, int] = {}  # the directions in which lines leave a cell
        self._strokes: dict[Point, Stroke] = {}
        self._signs: dict[Point, tuple[str, Style]] = {}  # "" behind a wide character

    def line(self, start: Point, end: Point, stroke: Stroke = "solid") -> None:
        """Draw a line from cell to cell, horizontal or vertical; it joins the lines that are there."""
        (x, y), (to_x, to_y) = min(start, end), max(start, end)
        if max(to_x, y, to_y) > MAX_EXTENT:
            raise Unreadable
        ahead, back = (_RIGHT, _LEFT) if y == to_y else (_DOWN, _UP)
        step_x, step_y = (1, 0) if y == to_y else (0, 1)
        while (x, y) != (to_x, to_y):
            self._leave((x, y), ahead, stroke)
            x, y = x + step_x, y + step_y
            self._leave((x, y), back, stroke)

    def _leave(self, cell: Point, exit_: int, stroke: Stroke) -> None:
        self._exits[cell] = self._exits.get(cell, 0) | exit_
        if self._strokes.setdefault(cell, stroke) != stroke:
            self._strokes[cell] = "solid"

    def frame(self, corner: Point, opposite: Point, corners: str = "", stroke: Stroke = "solid") -> None:
        """Draw a box; `corners` are the characters of its corners, row by row, if they are special ones."""
        (left, top), (right, bottom) = corner, opposite
        points = (left, top), (right, top), (left, bottom), (right, bottom)
        for start, end in ((0, 1), (0, 2), (1, 3), (2, 3)):
            self.line(points[start], points[end], stroke)
        for point, char in zip(points, corners, strict=False):
            self._signs[point] = char, _WIRE

    def sign(self, at: Point, char: str) -> None:
        """Put one character of a drawing over what is there."""
        self._signs[at] = char, _WIRE

    def write(self, at: Point, text: str) -> None:
        """Write `text` over what is there."""
        x, y = at
        for cluster, size in cells(text):
            self._signs[x, y] = cluster, PLAIN
            for behind in range(1, size):
                self._signs[x + behind, y] = "", PLAIN
            x += size

    def centre(self, left: int, right: int, y: int, text: str) -> None:
        """Write `text` into the middle of the cells from `left` to `right`."""
        self.write((left + (right - left + 1 - width(text)) // 2, y), text)

    def lines(self) -> list[Line]:
        """Return what was drawn, without blanks at the ends of lines."""
        rows: dict[int, dict[int, tuple[str, Style]]] = {}
        for (x, y), mask in self._exits.items():
            rows.setdefault(y, {})[x] = _SETS[self._strokes[x, y]][mask], _WIRE
        for (x, y), sign in self._signs.items():
            rows.setdefault(y, {})[x] = sign
        return [_row(rows.get(y, {})) for y in range(max(rows, default=-1) + 1)]


def _row(signs: dict[int, tuple[str, Style]]) -> Line:
    end = max((x for x, (char, _) in signs.items() if char.strip()), default=-1)
    return merged(Span(*signs.get(x, (" ", PLAIN))) for x in range(end + 1))
