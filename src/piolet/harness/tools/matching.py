"""Finding the text that a model wants to replace: exactly, or else loosely in one documented way.

Source: the tools specification, section 4, "Matching". Loosely means that file and wanted text are compared after NFKC,
without blanks at the ends of lines, with plain quotes, hyphens and blanks. One exact occurrence wins over loose ones.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cached_property
from typing import Final

from msgspec import Struct

from piolet.harness.tools.text_file import Replacement

_BLANKS: Final = " \t\f\v"
_PLAIN: Final = {
    **dict.fromkeys("\u2018\u2019\u201a\u201b", "'"),
    **dict.fromkeys("\u201c\u201d\u201e\u201f", '"'),
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d", "-"),
    **dict.fromkeys("\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000", " "),
}
_FANCY: Final = re.compile("[" + "".join(_PLAIN).replace("-", r"\-") + "]")


class Found(Struct, frozen=True):
    """Where wanted text stands: from `start` to `end`. `before` and `after`: what must stay at the edges.

    They are not empty only if a loose match begins or ends within a character (the ``i`` of a ligature).
    """

    start: int
    end: int
    before: str = ""
    after: str = ""

    def replacement(self, text: str) -> Replacement:
        return Replacement(self.start, self.end, self.before + text + self.after)


class Occurrences(Exception):
    """The text does not stand in the file exactly once; `count` says how often."""

    def __init__(self, count: int) -> None:
        super().__init__(f"{count} occurrences")
        self.count = count


class Haystack:
    """A text in LF form to search in; its loose form is made when it is first needed."""

    def __init__(self, text: str) -> None:
        self.text = text

    def find(self, wanted: str) -> Found:
        """Return the one place where `wanted` (not empty, LF form) stands. `Occurrences` if it is none or several."""
        start = self.text.find(wanted)
        if start < 0:
            return self._find_loosely(wanted)
        end = start + len(wanted)
        if self.text.find(wanted, end) >= 0:
            raise Occurrences(self.text.count(wanted))
        return Found(start, end)

    @cached_property
    def _loose(self) -> str:
        return _normal(self.text)

    def _find_loosely(self, wanted: str) -> Found:
        needle = _normal(wanted)
        if not needle:
            raise Occurrences(0)
        starts = list(self._loose_starts(needle, whole_last_line=_normal(wanted[-1:]) == ""))
        if len(starts) != 1:
            raise Occurrences(len(starts))
        start, before = self._in_text(starts[0], at_end=False)
        end, after = self._in_text(starts[0] + len(needle), at_end=True)
        return Found(start, end, before, after)

    def _loose_starts(self, needle: str, *, whole_last_line: bool) -> Iterator[int]:
        """Give the places of `needle`, none overlapping. Blanks dropped at its end must be the end of a line."""
        position = self._loose.find(needle)
        while position >= 0:
            end = position + len(needle)
            if not whole_last_line or self._loose[end : end + 1] in ("", "\n"):
                yield position
                position = self._loose.find(needle, end)
            else:
                position = self._loose.find(needle, position + 1)

    def _in_text(self, position: int, *, at_end: bool) -> tuple[int, str]:
        """Return where in the text a place of the loose form is, and what of the loose form lies between the two."""
        row = self._loose.count("\n", 0, position)
        column = position - (self._loose.rfind("\n", 0, position) + 1)
        line_start = _start_of_row(self.text, row)
        line_end = self.text.find("\n", line_start)
        line = self.text[line_start : line_end if line_end >= 0 else len(self.text)]
        place, rest = _column(line, column, at_end=at_end)
        return line_start + place, rest


def _normal(text: str) -> str:
    text = unicodedata.normalize("NFKC", text)
    text = "\n".join([line.rstrip(_BLANKS + "\u00a0") for line in text.split("\n")])
    return _plain(text)


def _plain(text: str) -> str:
    return text if text.isascii() else _FANCY.sub(lambda found: _PLAIN[found[0]], text)


def _start_of_row(text: str, row: int) -> int:
    position = 0
    for _ in range(row):
        position = text.index("\n", position) + 1
    return position


def _column(line: str, column: int, *, at_end: bool) -> tuple[int, str]:
    """Return the place in `line` of a column of its loose form.

    If the column lies within what one character became, the place is before it (behind it with `at_end`), and the
    second value is the part of the loose form between the column and that place.
    """
    if line.isascii():
        return column, ""
    low, high = 0, len(line)
    while low < high:  # the longest head whose loose form is not longer than the column
        middle = (low + high + 1) // 2
        if _width(line[:middle]) <= column:
            low = middle
        else:
            high = middle - 1
    place = low
    if at_end:
        while place < len(line) and (_width(line[:place]) < column or not _is_boundary(line, place)):
            place += 1
        return place, _loose_part(line[:place])[column:]
    while place > 0 and (_width(line[:place]) > column or not _is_boundary(line, place)):
        place -= 1
    return place, _loose_part(line)[_width(line[:place]) : column]


def _loose_part(text: str) -> str:
    return _plain(unicodedata.normalize("NFKC", text))


def _width(text: str) -> int:
    return len(unicodedata.normalize("NFKC", text))


def _is_boundary(line: str, place: int) -> bool:
    """True if what stands before and behind a place does not grow together in the loose form."""
    head, tail = line[:place], line[place:]
    return _width(head) + _width(tail) == _width(line) and not (tail and unicodedata.combining(tail[0]))
