"""``CustomEditor``: the prompt's editor as a component, to be changed by subclasses."""

from __future__ import annotations

from typing import Protocol

from piolet.tui.keymap import Keymap
from piolet.tui.keys import Key
from piolet.tui.ui_theme import UiTheme


class EditorHost(Protocol):
    """What shows the built-in editor."""

    def editor_lines(self, width: int) -> list[str]:
        """Return the built-in editor as it would be drawn."""

    def editor_input(self, key: Key) -> bool:
        """Do what `key` means to the program and the built-in editor."""


class CustomEditor:
    """Draws and does what the built-in editor does. A subclass draws more, or takes keys before it."""

    def __init__(self, tui: EditorHost, theme: UiTheme, keybindings: Keymap) -> None:
        self.tui, self.theme, self.keybindings = tui, theme, keybindings

    def render(self, width: int) -> list[str]:
        return self.tui.editor_lines(width)

    def handle_input(self, key: Key) -> bool:
        return self.tui.editor_input(key)
