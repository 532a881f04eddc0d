"""Choosing the theme: the colours change while the selection moves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from piolet.app.settings import Settings
from piolet.tui.keys import Key
from piolet.tui.panels.list_panel import ListPanel
from piolet.tui.select_list import Item
from piolet.tui.theme import SYSTEM

if TYPE_CHECKING:
    from piolet.modes.interactive.face import Face

AUTOMATIC = "automatic"


async def choose_theme_setting(face: Face) -> None:
    """Let the user choose a theme, or one for each of light and dark; Escape restores what was."""
    before, setting = face.looks.theme, face.theme_setting or SYSTEM
    pair = [name.strip() for name in setting.split("/")] if "/" in setting else ["light", "dark"]
    names = sorted(face.runtime.services.resources.themes)
    current = AUTOMATIC if "/" in setting else setting
    chosen = await _choose(face, "Theme", [SYSTEM, AUTOMATIC, *names], current)
    if chosen == AUTOMATIC:
        light = await _choose(face, "Theme on a light background", names, pair[0])
        dark = light and await _choose(face, "Theme on a dark background", names, pair[1])
        chosen = f"{light}/{dark}" if light and dark else None
    if chosen is None:
        face.show_theme(before)
        return
    face.theme_of_run = None
    face.runtime.services.files.set(Settings.theme, None if chosen == SYSTEM else chosen)
    face.opened.show_services()


async def _choose(face: Face, title: str, names: Sequence[str], current: str) -> str | None:
    items = [Item(name, name, current=name == current) for name in names]

    def preview(name: str) -> None:
        if name != AUTOMATIC:
            face.use_theme(name)

    return await face.ask(lambda done: _ThemePanel(title, items, done, preview, face))


class _ThemePanel(ListPanel[str]):
    """Tells `preview` whenever another theme is selected."""

    def __init__(
        self,
        title: str,
        items: Sequence[Item[str]],
        done: Callable[[str | None], None],
        preview: Callable[[str], object],
        face: Face,
    ) -> None:
        super().__init__(title, items, done, lambda: done(None), keymap=face.keymap)
        self._preview = preview

    def handle(self, key: Key) -> bool:
        before = self.list.current
        taken = super().handle(key)
        if self.list.current is not None and self.list.current is not before:
            self._preview(self.list.current.value)
        return taken
