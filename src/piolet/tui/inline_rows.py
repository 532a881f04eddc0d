"""The last rows of a terminal's main screen, which change, and what goes above them for good. Pure: it gives sequences.

Only rows that differ are written again. Where the terminal's cursor stands is known from what was written: nothing is
asked, so that the answer cannot be taken for a key.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

_ERASE_BELOW, _ERASE_REST = "\x1b[J", "\x1b[K"
_KEEP, _BACK = "\x1b7", "\x1b8"  # where the cursor stands
_BREAK, _CUT_OFF = "\x1b[?7h", "\x1b[?7l"  # what becomes of what is too wide
_HOLD, _RELEASE = "\x1b[?2026h", "\x1b[?2026l"  # what stands between appears at once


class InlineRow(NamedTuple):
    """A row as escape sequences, and the cells that it takes."""

    text: str
    width: int


class InlineRows:
    """The rows as they were drawn last.

    The terminal may become narrower before this is known here. So a row never takes two: what does not fit is cut off
    until it is drawn anew. What goes above is broken instead, for it is not drawn again. A terminal that breaks rows
    anew moves the first row away from a cursor that stands below it; then what was there stays as it is, but nothing
    that went above is ever erased. With the cursor in the first row nothing is left behind, unless the rows broken anew
    are more than the screen has: those that leave it at the top are out of reach.
    """

    def __init__(self) -> None:
        self._rows: list[InlineRow] = []
        self._cursor = (0, 0)
        self._columns = 0
        self._above = ""

    def put_above(self, text: str) -> None:
        """Let whole lines stand above the rows, for good, from the next drawing on."""
        self._above += text.replace("\n", "\r\n")

    def draw(self, rows: Sequence[InlineRow], columns: int, cursor: tuple[int, int]) -> str:
        """Return what makes a terminal of `columns` show `rows`, with its cursor at column and row `cursor`."""
        if self._above or columns != self._columns or not 0 < len(rows) <= len(self._rows):
            room = "\n" * (len(rows) - 1) + _vertical(len(rows) - 1, 0) if rows else ""
            parts = [self._home(), self._broken(), room, f"{_vertical(0, 1)}\r".join(row.text for row in rows)]
            parts += [_vertical(max(0, len(rows) - 1), 0), "\r"]
        else:
            parts = [_vertical(self._cursor[1], 0), "\r", _KEEP, *self._changes(rows, columns), _BACK]
        self._rows, self._columns, self._cursor, self._above = list(rows), columns, cursor, ""
        parts += [_vertical(0, cursor[1]), f"\x1b[{cursor[0]}C" if cursor[0] else ""]
        return f"{_HOLD}{_CUT_OFF}{''.join(parts)}{_RELEASE}"

    def _changes(self, rows: Sequence[InlineRow], columns: int) -> Iterator[str]:
        """Yield what changes the rows into `rows`, which are not more. Nothing of it makes the screen scroll."""
        at = 0
        for number, (row, before) in enumerate(zip(rows, self._rows, strict=False)):
            if row != before:
                yield _vertical(at, number) + "\r" + row.text + (_ERASE_REST if row.width < columns else "")
                at = number
        if len(rows) < len(self._rows):
            yield _vertical(at, len(rows)) + "\r" + _ERASE_BELOW

    def forget(self) -> None:
        """The terminal may have changed the rows: write all of them when they are drawn next."""
        self._columns = 0

    def erase(self) -> str:
        """Return what takes the rows away, with the cursor where they began, below all that was put above."""
        sequence = self._home() + self._broken()
        self._rows, self._cursor, self._above = [], (0, 0), ""
        return sequence

    def _broken(self) -> str:
        return f"{_BREAK}{self._above}{_CUT_OFF}" if self._above else ""

    def _home(self) -> str:
        """Return what moves to the first row and erases from there on. Some terminals keep what is erased from their
        first cell on, as if it had left them at the top: so the first row goes by itself."""
        return f"\r{_vertical(self._cursor[1], 0)}{_KEEP}{_ERASE_REST}{_vertical(0, 1)}{_ERASE_BELOW}{_BACK}"


def _vertical(start: int, end: int) -> str:
    """Return what moves the cursor from one row to another that is on the screen."""
    if start == end:
        return ""
    return f"\x1b[{start - end}A" if end < start else f"\x1b[{end - start}B"
