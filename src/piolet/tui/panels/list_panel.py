"""A list to choose from, with a title and, if wanted, a search line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from piolet.tui.component_input import Input, move_in
from piolet.tui.fuzzy import rank
from piolet.tui.keymap import Keymap
from piolet.tui.keys import Key
from piolet.tui.panels.panel import HINT, fit_height, head_lines, key_hints
from piolet.tui.select_list import Item, SelectList
from piolet.tui.spans import Line, row
from piolet.tui.text import one_line, wrap

T = TypeVar("T")


class ListPanel(Generic[T]):
    """Shows items; Enter calls `on_choose` with the value, Escape `on_cancel`.

    `search`: typed text filters by label and description, best first. `details(value)` is shown below the list.
    `actions`: what other keys do with the selected value, by the action they are bound to.
    """

    def __init__(
        self,
        title: str,
        items: Sequence[Item[T]],
        on_choose: Callable[[T], object],
        on_cancel: Callable[[], object],
        *,
        keymap: Keymap | None = None,
        hints: Sequence[str] = (),
        search: bool = False,
        query: str = "",
        details: Callable[[T], str] | None = None,
        actions: dict[str, Callable[[T], object]] | None = None,
        rows: int = 10,
        marker: str = "→ ",
    ) -> None:
        self.title, self.hints, self.marker = title, hints, marker
        self.on_choose, self.on_cancel = on_choose, on_cancel
        self.keymap = keymap or Keymap()
        self.details, self.actions = details, actions or {}
        self.rows = rows
        self._items: Sequence[Item[T]] = items
        self.list: SelectList[T] = SelectList(items, rows=rows)
        self.input = Input(query, prompt="  Search: ", keymap=self.keymap, on_change=self._filter) if search else None
        current = next((number for number, item in enumerate(items) if item.current), 0)
        self.list.show(items, current)
        if query:
            self._filter(query)

    def show(self, items: Sequence[Item[T]]) -> None:
        """Replace the items; the selection stays where it is."""
        self._items = items
        selected = self.list.selected
        self._filter(self.input.text if self.input else "")
        self.list.show(self.list.items, selected)

    def _filter(self, query: str) -> None:
        self.list.show(rank(query, self._items, lambda item: f"{item.label} {item.description}"))

    def handle(self, key: Key) -> bool:
        current = self.list.current
        for action, run in self.actions.items():
            if self.keymap.matches(key, action):
                if current is not None:
                    run(current.value)
                return True
        match self.keymap.action(key, ("tui.select.",)):
            case "tui.select.confirm":
                if current is not None:
                    self.on_choose(current.value)
            case "tui.select.cancel":
                self.on_cancel()
            case str(action):
                move_in(self.list, action)
            case None:
                return self.input is not None and self.input.handle_input(key)
        return True

    def paste(self, text: str) -> None:
        if self.input is not None:
            self.input.paste(text)

    def lines(self, width: int, height: int) -> Sequence[Line]:
        hints = self.hints if self.input is None else key_hints(self.hints, width, height)
        head = head_lines(self.title, hints, width)
        typed = None if self.input is None else self.input.line(width)
        below: list[Line] = []
        current = self.list.current
        if self.details is not None and current is not None and (text := self.details(current.value)):
            below = [(), *(row(f"  {line}", HINT) for line in wrap(one_line(text), max(1, width - 2)))]
            below = below[: height // 3] if height >= 6 else []
        room = height - len(head) - len(below) - (typed is not None)
        # The answers to a long question are seen before all of it is.
        least = min(len(self.list.items), height // 2) if typed is None else 1
        self.list.rows = max(1, min(self.rows, max(room - 1, least)))
        return fit_height(head, [*self.list.lines(width, marker=self.marker), *below], height, typed)
