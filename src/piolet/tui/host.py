"""``Tui``: what the makers of components get of the screen that shows them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from piolet.tui.blocks.footer import FooterView
from piolet.tui.keys import Key


class Tui(Protocol):
    """The screen, as far as components of extensions may know it."""

    @property
    def size(self) -> tuple[int, int]:
        """Columns and rows of the screen."""

    @property
    def animated(self) -> bool:
        """Whether things may move by themselves; some users do not want that."""

    @property
    def editor_text(self) -> str:
        """What is in the editor."""

    @property
    def footer(self) -> FooterView:
        """The numbers and names that the built-in footer shows."""

    @property
    def statuses(self) -> Mapping[str, str]:
        """What extensions say in the footer, by key."""

    def request_render(self) -> None:
        """Draw again what extensions show."""

    def editor_lines(self, width: int) -> list[str]:
        """Return the built-in editor as it would be drawn."""

    def editor_input(self, key: Key) -> bool:
        """Do what `key` means to the program and the built-in editor; return whether it meant something."""

    def stop(self) -> None:
        """Give the terminal to another program until `start` is called; nothing is drawn meanwhile."""

    def start(self) -> None:
        """Take the terminal back."""
