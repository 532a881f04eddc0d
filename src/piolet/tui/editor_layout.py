"""How the text of an editor lies on rows of a given width: wrapping, tabs, paste markers, places of the cursor.

Offsets are code points of the buffer's text, columns are cells. Tabs go to every fourth column of a row; a paste
marker is one character of the text and drawn as its label.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from functools import lru_cache

from piolet.tui import text as cells

TAB_STOP = 4
MARKER_FIRST, MARKER_LAST = "\U00100000", "\U0010fffd"


def is_marker(char: str) -> bool:
    """Whether `char` stands for a paste."""
    return MARKER_FIRST <= char <= MARKER_LAST


class Layout:
    """The rows of a text. `rows` are (start, end) offsets, in order; there is always one."""

    def __init__(self, text: str, labels: Mapping[str, str], limit: int) -> None:
        """`labels`: what markers are drawn as. `limit`: cells of a row; a cursor behind its last cell is beside it."""
        self.text = text
        self.labels = labels
        self.limit = max(1, limit)
        self.rows: list[tuple[int, int]] = []
        at = 0
        for line in text.split("\n"):
            for start, end in self._wrap(line):
                self.rows.append((at + start, at + end))
            at += len(line) + 1
        self._starts = [start for start, _ in self.rows]

    def row_of(self, offset: int) -> int:
        """Return the number of the row that a cursor at `offset` is drawn in."""
        return bisect_right(self._starts, offset) - 1

    def column_of(self, offset: int) -> int:
        """Return the column of a cursor at `offset` in its row."""
        start = self._starts[self.row_of(offset)]
        return sum(size for _, size in self._sized(self.text[start:offset]))

    def offset_at(self, number: int, column: int) -> int:
        """Return the offset in row `number` nearest to `column` that is not right of it."""
        start, end = self.rows[number]
        at, used = start, 0
        soft = number + 1 < len(self.rows) and self.rows[number + 1][0] == end
        for cluster, size in self._sized(self.text[start:end]):
            if used + size > column or (soft and at + len(cluster) == end):
                break
            used += size
            at += len(cluster)
        return at

    def pieces(self, number: int) -> Iterator[tuple[int, str]]:
        """Yield the clusters of row `number` with their offsets, as they are drawn: tabs and markers expanded."""
        at, end = self.rows[number]
        for cluster, size in self._sized(self.text[at:end]):
            if cluster == "\t":
                yield at, " " * size
            elif is_marker(cluster[0]):
                yield at, cells.truncate(self.labels.get(cluster[0], ""), size)
            else:
                yield at, cells.safe_for_terminal(cluster)
            at += len(cluster)

    def drawn(self, number: int) -> str:
        """Return row `number` as it is drawn."""
        return "".join(piece for _, piece in self.pieces(number))

    def _wrap(self, line: str) -> list[tuple[int, int]]:
        if "\t" in line or any(map(is_marker, line)):
            return self._wrap_special(line)
        return _wrap_plain(line, self.limit)

    def _wrap_special(self, line: str) -> list[tuple[int, int]]:
        """Wrap a line with tabs or markers: rows break behind blanks and around markers, else between clusters."""
        starts, at, used = [0], 0, 0
        chance = (0, 0)  # the last place where the row may break: offset and number of the cluster
        sized = list(self._sized(line))
        number = 0
        while number < len(sized):
            cluster, size = sized[number]
            blank = cluster in " \t"
            marker = is_marker(cluster[0])
            if marker:
                chance = (at, number)
            if cluster == "\t":
                size = TAB_STOP - used % TAB_STOP
            if used + size > self.limit + blank and at > starts[-1]:
                if chance[0] > starts[-1]:
                    at, number = chance
                starts.append(at)
                used = 0
                continue
            used += size
            at += len(cluster)
            number += 1
            if blank or marker:
                chance = (at, number)
        return list(zip(starts, [*starts[1:], len(line)], strict=True))

    def _sized(self, source: str) -> Iterator[tuple[str, int]]:
        """Yield the clusters of one row, or of the start of one, with the cells that they take."""
        column = 0
        for cluster, size in cells.cells(source):
            if cluster == "\t":
                size = TAB_STOP - column % TAB_STOP
            elif is_marker(cluster[0]):
                size = min(self.limit, cells.width(self.labels.get(cluster[0], "")))
            column += size
            yield cluster, size


@lru_cache(8192)
def _wrap_plain(line: str, limit: int) -> list[tuple[int, int]]:
    return cells.wrap_ranges(line, limit)
