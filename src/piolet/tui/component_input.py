"""The ready-made components that take input: a list to choose from, settings, a line of text, an editor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from piolet.tui import editor, select_list
from piolet.tui.keymap import Keymap
from piolet.tui.keys import Key
from piolet.tui.select_list import Item
from piolet.tui.spans import Line, Span, Style, clip, merged, row
from piolet.tui.text import fit, graphemes, wrap
from piolet.tui.text import width as width_of
from piolet.tui.ui_theme import UiTheme

T = TypeVar("T")

_CURSOR, _MUTED = Style(reverse=True), Style("muted")
_MASK = "•"


class SelectList(Generic[T]):
    """A list to choose from. Enter calls `on_select` with the item's value, Escape `on_cancel`."""

    def __init__(
        self,
        items: Sequence[Item[T]],
        *,
        on_select: Callable[[T], object] = lambda value: None,
        on_cancel: Callable[[], object] = lambda: None,
        theme: UiTheme | None = None,
        keymap: Keymap | None = None,
        rows: int = 10,
    ) -> None:
        self.list = select_list.SelectList(items, rows=rows)
        self.on_select, self.on_cancel = on_select, on_cancel
        self.theme, self.keymap = theme or UiTheme(), keymap or Keymap()

    def render(self, width: int) -> list[str]:
        return self.theme.lines(self.list.lines(width))

    def handle_input(self, key: Key) -> bool:
        match self.keymap.action(key, ("tui.select.",)):
            case "tui.select.confirm":
                if self.list.current is not None:
                    self.on_select(self.list.current.value)
            case "tui.select.cancel":
                self.on_cancel()
            case str(action):
                move_in(self.list, action)
            case None:
                return False
        return True


def move_in(items: select_list.SelectList[T], action: str) -> None:
    """Move the selection as a key action of lists says."""
    match action:
        case "tui.select.up":
            items.move(-1)
        case "tui.select.down":
            items.move(1)
        case "tui.select.pageUp":
            items.page(-1)
        case "tui.select.pageDown":
            items.page(1)


@dataclass(frozen=True, slots=True)
class Setting:
    """A row of a settings list: `value` is one of `values`."""

    key: str
    label: str
    value: str
    values: Sequence[str]
    description: str = ""


class SettingsList:
    """Settings, one per row. Enter or Space takes the next value and calls `on_change(key, value)`."""

    def __init__(
        self,
        settings: Sequence[Setting],
        on_change: Callable[[str, str], object],
        *,
        on_cancel: Callable[[], object] = lambda: None,
        theme: UiTheme | None = None,
        keymap: Keymap | None = None,
        rows: int = 10,
    ) -> None:
        self.settings = list(settings)
        self.on_change, self.on_cancel = on_change, on_cancel
        self.theme, self.keymap = theme or UiTheme(), keymap or Keymap()
        self.list: select_list.SelectList[int] = select_list.SelectList([], rows=rows)
        self._show()

    def _show(self) -> None:
        items = [Item(n, setting.label, setting.value) for n, setting in enumerate(self.settings)]
        self.list.show(items, self.list.selected)

    def render(self, width: int) -> list[str]:
        lines = self.list.lines(width)
        current = self.list.current
        if current is not None and (text := self.settings[current.value].description):
            lines = [*lines, (), *(row(line, _MUTED) for line in wrap(text, width))]
        return self.theme.lines(lines)

    def handle_input(self, key: Key) -> bool:
        action = self.keymap.action(key, ("tui.select.",))
        if action == "tui.select.confirm" or key.name == "space":
            self._next()
        elif action == "tui.select.cancel":
            self.on_cancel()
        elif action is not None:
            move_in(self.list, action)
        else:
            return False
        return True

    def _next(self) -> None:
        current = self.list.current
        if current is None:
            return
        setting = self.settings[current.value]
        at = setting.values.index(setting.value) + 1 if setting.value in setting.values else 0
        changed = replace(setting, value=setting.values[at % len(setting.values)])
        self.settings[current.value] = changed
        self._show()
        self.on_change(changed.key, changed.value)


class Input:
    """One line of text. Enter calls `on_submit` with it, Escape `on_cancel`; `masked`: dots are drawn."""

    def __init__(
        self,
        text: str = "",
        *,
        on_submit: Callable[[str], object] = lambda text: None,
        on_cancel: Callable[[], object] = lambda: None,
        on_change: Callable[[str], object] = lambda text: None,
        prompt: str = "> ",
        placeholder: str = "",
        masked: bool = False,
        theme: UiTheme | None = None,
        keymap: Keymap | None = None,
    ) -> None:
        self.on_submit, self.on_cancel, self.on_change = on_submit, on_cancel, on_change
        self.prompt, self.placeholder, self.masked = prompt, placeholder, masked
        self.theme, self.keymap = theme or UiTheme(), keymap or Keymap()
        self._editor = editor.Editor(self.keymap)
        self._editor.set_text(_one_line(text))

    @property
    def text(self) -> str:
        return self._editor.buffer.value

    @text.setter
    def text(self, text: str) -> None:
        self._editor.set_text(_one_line(text))

    def paste(self, text: str) -> None:
        """Take what was pasted, on one line."""
        self._editor.buffer.insert(_one_line(text))
        self.on_change(self.text)

    def handle_input(self, key: Key) -> bool:
        if self.keymap.matches(key, "tui.select.cancel"):
            self.on_cancel()
        elif self.keymap.matches(key, "tui.input.submit"):
            self.on_submit(self.text)
        elif self.keymap.action(key, ("tui.input.",)) is not None:
            return False
        else:
            before = self.text
            if self._editor.handle(key) == "ignored":
                return False
            if self.text != before:
                self.on_change(self.text)
        return True

    def render(self, width: int) -> list[str]:
        return self.theme.lines([self.line(width)])

    def line(self, width: int) -> Line:
        """Return the line with the cursor in reverse, scrolled so that the cursor is seen."""
        prompt = self.prompt if width_of(self.prompt) + 2 < width else ""
        room = max(1, width - width_of(prompt))
        text, cursor = self.text, self._editor.buffer.cursor
        if self.masked:
            text = _MASK * len(text)
        if not text and self.placeholder:
            return clip((Span(prompt), Span(" ", _CURSOR), Span(self.placeholder, _MUTED)), width)
        before, rest = text[:cursor], text[cursor:]
        under = graphemes(rest[:64])[0] if rest else " "
        while before and width_of(before) + width_of(under) > room:
            before = before[max(1, fit(before, room // 2)) :]
        line = (Span(prompt), Span(before), Span(under, _CURSOR), Span(rest[len(under) :]))
        return clip(merged(line), width, "")


class Editor:
    """Text of several lines. Enter calls `on_submit` with it, Escape `on_cancel`."""

    def __init__(
        self,
        text: str = "",
        *,
        on_submit: Callable[[str], object] = lambda text: None,
        on_cancel: Callable[[], object] = lambda: None,
        theme: UiTheme | None = None,
        keymap: Keymap | None = None,
        rows: int = 10,
    ) -> None:
        self.on_submit, self.on_cancel = on_submit, on_cancel
        self.theme, self.keymap, self.rows = theme or UiTheme(), keymap or Keymap(), rows
        self.editor = editor.Editor(self.keymap)
        self.editor.set_text(text)

    @property
    def text(self) -> str:
        return self.editor.buffer.value

    def paste(self, text: str) -> None:
        self.editor.paste(text)

    def handle_input(self, key: Key) -> bool:
        if self.keymap.matches(key, "tui.select.cancel") and not self.editor.close_menu():
            self.on_cancel()
            return True
        outcome = self.editor.handle(key)
        if outcome == "submit":
            self.on_submit(self.text)
        return outcome != "ignored"

    def render(self, width: int) -> list[str]:
        return self.theme.lines(self.editor.view(width, self.rows).lines)


def _one_line(text: str) -> str:
    return " ".join(text.splitlines())
