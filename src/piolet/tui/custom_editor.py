"""``CustomEditor``: the prompt's editor as a component, to be changed by subclasses."""

from __future__ import annotations

from piolet.tui.host import Tui
from piolet.tui.keymap import Keymap
from piolet.tui.keys import Key
from piolet.tui.ui_theme import UiTheme


class CustomEditor:
    """Draws and does what the built-in editor does. A subclass draws more, or takes keys before it."""

    def __init__(self, tui: Tui, theme: UiTheme, keybindings: Keymap) -> None:
        self.tui, self.theme, self.keybindings = tui, theme, keybindings

    def render(self, width: int) -> list[str]:
        return self.tui.editor_lines(width)

    def handle_input(self, key: Key) -> bool:
        return self.tui.editor_input(key)
