"""A list with one chosen row, a window of some rows around it, and how it is drawn: menus, completion, selectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from piolet.tui.spans import Line, Span, Style, clip, line_width, pad, row
from piolet.tui.text import one_line, width

LABEL_LIMIT = 32

_SELECTED, _MUTED, _PLAIN = Style("accent", bold=True), Style("muted"), Style("text")
_CURRENT = Style("success")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Item(Generic[T]):
    """A row: what it stands for, what it is called, what is said of it. `current`: it is in force now. `below`: what is
    said in a second row."""

    value: T
    label: str
    description: str = ""
    current: bool = False
    below: str = ""


class SelectList(Generic[T]):
    """Items of which one is selected."""

    def __init__(self, items: Sequence[Item[T]], *, rows: int = 10) -> None:
        self.rows = max(1, rows)
        self.items: Sequence[Item[T]] = ()
        self.selected = 0
        self.show(items)

    @property
    def current(self) -> Item[T] | None:
        """The selected item; None in an empty list."""
        return self.items[self.selected] if self.items else None

    def show(self, items: Sequence[Item[T]], selected: int = 0) -> None:
        """Replace the items."""
        self.items = items
        self.selected = max(0, min(selected, len(items) - 1))

    def move(self, count: int) -> None:
        """Move the selection; over the end it comes in at the other end."""
        if self.items:
            self.selected = (self.selected + count) % len(self.items)

    def page(self, count: int) -> None:
        """Move the selection by `count` windows, at most to the end."""
        self.selected = max(0, min(len(self.items) - 1, self.selected + count * self._fitting))

    def window(self) -> range:
        """Return the numbers of the rows that are seen, the selected one in the middle where it can be."""
        count = self._fitting
        first = max(0, min(self.selected - count // 2, len(self.items) - count))
        return range(first, min(len(self.items), first + count))

    @property
    def _fitting(self) -> int:
        """How many items `rows` hold."""
        return max(1, self.rows // 2) if self.items and self.items[0].below else self.rows

    def lines(self, limit: int, *, marker: str = "→ ", empty: str = "No matches") -> list[Line]:
        """Return the rows in `limit` cells, and ``(n/total)`` below if there are more than are seen."""
        if not self.items:
            return [clip(row(f"  {empty}", _MUTED), limit)]
        seen = self.window()
        marked = any(item.current for item in self.items)
        heads = [self._head(n, marker, marked) for n in seen]
        column = min(LABEL_LIMIT, max(map(line_width, heads)) - width(marker)) + width(marker) + 2
        lines: list[Line] = []
        for number, head in zip(seen, heads, strict=True):
            lines.append(self._line(number, head, column, limit))
            if below := self.items[number].below:
                lines.append(clip(row(" " * width(marker) + one_line(below), _MUTED), limit))
        if len(seen) < len(self.items):
            lines.append(clip(row(f"  ({self.selected + 1}/{len(self.items)})", _MUTED), limit))
        return lines

    def _head(self, number: int, marker: str, marked: bool) -> Line:
        item, selected = self.items[number], number == self.selected
        lead = Span(marker if selected else " " * width(marker), _SELECTED)
        label = Span(one_line(item.label), _SELECTED if selected else _PLAIN)
        return (lead, Span("✓ " if item.current else "  ", _CURRENT), label) if marked else (lead, label)

    def _line(self, number: int, head: Line, column: int, limit: int) -> Line:
        description = one_line(self.items[number].description)
        if not description:
            return clip(head, limit)
        gap = Span("  ") if line_width(head) >= column else Span("")
        return clip((*pad(head, column), gap, Span(description, _MUTED)), limit)
