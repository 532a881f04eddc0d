"""The line that searches the transcript."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from piolet.tui.component_input import Input
from piolet.tui.keymap import Keymap
from piolet.tui.keys import Key
from piolet.tui.panels.panel import HINT
from piolet.tui.spans import Line, columns, row


class SearchPanel:
    """Calls `on_query` with what is typed, `on_step` with 1 (further down) or -1 (up), both telling whether something
    was found, and `on_close`."""

    def __init__(
        self,
        on_query: Callable[[str], bool],
        on_step: Callable[[int], bool],
        on_close: Callable[[], object],
        *,
        keymap: Keymap | None = None,
    ) -> None:
        self.keymap = keymap or Keymap()
        self._on_query, self._on_step, self._on_close = on_query, on_step, on_close
        self._found = True
        self.input = Input(prompt=" Find: ", keymap=self.keymap, on_change=self._search)

    def _search(self, query: str) -> None:
        self._found = self._on_query(query) or not query

    def handle(self, key: Key) -> bool:
        match self.keymap.action(key, ("tui.altScreen.searchClose", "tui.altScreen.")):
            case "tui.altScreen.searchClose":
                self._on_close()
            case "tui.altScreen.searchNext":
                self._found = self._on_step(1)
            case "tui.altScreen.searchPrevious":
                self._found = self._on_step(-1)
            case _:
                return self.input.handle_input(key)
        return True

    def paste(self, text: str) -> None:
        self.input.paste(text)

    def lines(self, width: int, height: int) -> Sequence[Line]:
        label = self.keymap.label
        hint = f"{label('tui.altScreen.searchNext')} next · {label('tui.altScreen.searchPrevious')} previous "
        note = row(hint if self._found else "no match ", HINT)
        return [columns(self.input.line(max(1, width - 36)), note, width)]
