"""Tables drawn with box characters: column widths, wrapped cells, alignment."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import Literal, TypeAlias

from piolet.tui.spans import BLANK, Line, Span, Style, line_width, wrap

Align: TypeAlias = Literal["left", "center", "right"]
#: The lines of a cell, before wrapping.
Cell: TypeAlias = Sequence[Sequence[Span]]


def table_lines(rows: Sequence[Sequence[Cell]], aligns: Sequence[Align], limit: int, border: Style) -> list[Line]:
    """Return a table in at most `limit` cells, a rule between all rows; nothing if it is too narrow for that."""
    count = len(aligns)
    room = limit - 3 * count - 1
    if room < 3 * count:
        return []
    natural = [max((line_width(line) for row in rows for line in row[column]), default=1) for column in range(count)]
    widths = _share(natural, room)
    lines = [_rule("┌┬┐", widths, border)]
    for number, row in enumerate(rows):
        if number:
            lines.append(_rule("├┼┤", widths, border))
        lines += _row(row, widths, aligns, border)
    lines.append(_rule("└┴┘", widths, border))
    return lines


def _share(natural: Sequence[int], room: int) -> list[int]:
    """Give narrow columns what they need, and the others equal parts of the rest."""
    widths = [0] * len(natural)
    for left, column in enumerate(sorted(range(len(natural)), key=lambda n: natural[n])):
        widths[column] = max(1, min(natural[column], room // (len(natural) - left)))
        room -= widths[column]
    return widths


def _rule(corners: str, widths: Sequence[int], style: Style) -> Line:
    inner = corners[1].join("─" * (width + 2) for width in widths)
    return (Span(corners[0] + inner + corners[2], style),)


def _row(cells: Sequence[Cell], widths: Sequence[int], aligns: Sequence[Align], border: Style) -> list[Line]:
    columns = [
        [row for line in cell for row in wrap(tuple(line), width)] for cell, width in zip(cells, widths, strict=True)
    ]
    lines: list[Line] = []
    for pieces in zip_longest(*columns, fillvalue=BLANK):
        spans = [Span("│ ", border)]
        for column, piece in enumerate(pieces):
            missing = max(0, widths[column] - line_width(piece))
            left = {"left": 0, "center": missing // 2, "right": missing}[aligns[column]]
            last = column == len(widths) - 1
            spans += (
                Span(" " * left),
                *piece,
                Span(" " * (missing - left)),
                Span(" │" if last else " │ ", border),
            )
        lines.append(tuple(span for span in spans if span.text))
    return lines
