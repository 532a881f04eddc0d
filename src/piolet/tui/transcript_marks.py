"""What is marked in a transcript: places that a search found, and text that the user selected."""

from __future__ import annotations

from dataclasses import dataclass

from piolet.tui.spans import Line, Span, Style, line_text, merged, part
from piolet.tui.text import fit, width
from piolet.tui.transcript import Place, Transcript

_FOUND = Style("searchMatchText", "searchMatchBg")
_CURRENT = Style("searchMatchText", "searchMatchBg", bold=True, reverse=True)
_SELECTED = Style(bg="selectedBg")


def mark_found(line: Line, query: str, *, current: bool = False) -> Line:
    """Return `line` with every place of `query`, in any case, marked; `current`: the search stands in this row."""
    text = line_text(line).lower()
    query = query.lower()
    at = text.find(query) if query and len(text) == len(line_text(line)) else -1
    if at < 0:
        return line
    spans: list[Span] = []
    done = 0
    while at >= 0:
        spans += (*part(line, done, at), *_restyle(part(line, at, at + len(query)), _CURRENT if current else _FOUND))
        done = at + len(query)
        at = text.find(query, done)
    return merged([*spans, *part(line, done, len(text))])


def _restyle(line: Line, style: Style) -> Line:
    return tuple(Span(text, style.over(own)) for text, own in line)


@dataclass(frozen=True, slots=True)
class Selection:
    """A stretch of text from the cell where it was begun to the cell where it is now, both included."""

    begin: tuple[Place, int]
    end: tuple[Place, int]

    def moved(self, place: Place, column: int) -> Selection:
        """Return the selection with another end."""
        return Selection(self.begin, (place, column))

    @property
    def empty(self) -> bool:
        """Whether nothing was dragged over."""
        return self.begin == self.end

    def columns(self, place: Place, size: int) -> tuple[int, int] | None:
        """Return the cells (from, to) that are selected in a row of `size` cells; None if none are."""
        (first, start), (last, stop) = self._ordered()
        key = (place.block, place.row)
        if not (first.block, first.row) <= key <= (last.block, last.row):
            return None
        left = start if place == first else 0
        right = min(stop + 1, size) if place == last else size
        return (left, right) if left < right else None

    def mark(self, line: Line, place: Place) -> Line:
        """Return `line` with its selected part marked."""
        text = line_text(line)
        columns = self.columns(place, width(text))
        if columns is None:
            return line
        start, end = fit(text, columns[0]), fit(text, columns[1])
        chosen = _restyle(part(line, start, end), _SELECTED)
        return merged((*part(line, 0, start), *chosen, *part(line, end, len(text))))

    def text(self, transcript: Transcript) -> str:
        """Return the selected text, without the blanks that only fill lines."""
        (first, _), (last, _) = self._ordered()
        lines: list[str] = []
        for row in transcript.rows_from(first):
            if (row.place.block, row.place.row) > (last.block, last.row):
                break
            text = line_text(row.line)
            columns = self.columns(row.place, width(text))
            lines.append(text[fit(text, columns[0]) : fit(text, columns[1])].rstrip() if columns else "")
        return "\n".join(lines).strip("\n")

    def _ordered(self) -> tuple[tuple[Place, int], tuple[Place, int]]:
        one, other = self.begin, self.end
        if (one[0].block, one[0].row, one[1]) <= (other[0].block, other[0].row, other[1]):
            return one, other
        return other, one
