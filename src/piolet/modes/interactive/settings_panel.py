"""A searchable list of settings: Enter or Space takes the next value, or opens what chooses one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from piolet.tui.component_input import Input, move_in
from piolet.tui.fuzzy import rank
from piolet.tui.keymap import Keymap
from piolet.tui.keys import Key
from piolet.tui.panels.panel import HINT, fit_height, head_lines, key_hints
from piolet.tui.select_list import Item, SelectList
from piolet.tui.spans import BLANK, Line, row
from piolet.tui.text import wrap

ROWS = 12


@dataclass(frozen=True, slots=True)
class SettingRow:
    """`value()` is what is shown, `change()` what Enter does."""

    label: str
    value: Callable[[], str]
    change: Callable[[], object]
    description: str = ""


class SettingsPanel:
    """Shows rows; Escape calls `close`."""

    def __init__(self, rows: Sequence[SettingRow], close: Callable[[], object], *, keymap: Keymap) -> None:
        self._rows, self._close, self._keymap = rows, close, keymap
        self._list: SelectList[SettingRow] = SelectList([], rows=ROWS)
        self._input = Input(prompt="  Search: ", keymap=keymap, on_change=lambda query: self._show(0))
        self._show(0)

    def handle(self, key: Key) -> bool:
        current = self._list.current
        action = self._keymap.action(key, ("tui.select.",))
        if action == "tui.select.confirm" or (key.name == "space" and not self._input.text):
            if current is not None:
                current.value.change()
                self._show(self._list.selected)
        elif action == "tui.select.cancel":
            self._close()
        elif action is not None:
            move_in(self._list, action)
        else:
            return self._input.handle_input(key)
        return True

    def paste(self, text: str) -> None:
        self._input.paste(text)

    def lines(self, width: int, height: int) -> Sequence[Line]:
        self._show(self._list.selected)
        confirm, cancel = self._keymap.label("tui.select.confirm"), self._keymap.label("tui.select.cancel")
        hints = [f"{confirm}/space changes · {cancel} closes · saved at once"]
        head = head_lines("Settings", key_hints(hints, width, height), width)
        current = self._list.current
        text = current.value.description if current else ""
        below = [BLANK, *(row(f"  {line}", HINT) for line in wrap(text, max(1, width - 2)))] if text else []
        below = below[: max(0, height // 3)]
        self._list.rows = max(1, min(ROWS, height - len(head) - len(below) - 2))
        return fit_height(head, [*self._list.lines(width), *below], height, self._input.line(width))

    def _show(self, selected: int) -> None:
        found = rank(self._input.text, self._rows, lambda one: f"{one.label} {one.description}")
        self._list.show([Item(one, one.label, one.value()) for one in found], selected)
