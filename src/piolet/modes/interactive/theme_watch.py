"""Looks after the file of the theme in force: what is saved there is seen at once."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from piolet.tui.theme import choose_theme

if TYPE_CHECKING:
    from piolet.modes.interactive.face import Face

SECONDS = 1.0


class ThemeWatch:
    """`look` is called now and then; a file that cannot be read leaves the colours as they are until it can."""

    def __init__(self, face: Face) -> None:
        self._face = face
        self._seen: tuple[str, int] | None = None

    def look(self) -> None:
        """Show the theme of the settings anew if its file has changed."""
        face = self._face
        if not face.ready:
            return
        services = face.runtime.services
        name = choose_theme(services.settings.theme, face.looks.appearance)
        loaded = services.resources.themes.get(name or "")
        if loaded is None or loaded.path is None:
            self._seen = None
            return
        try:
            seen = (loaded.path, os.stat(loaded.path).st_mtime_ns)
            before, self._seen = self._seen, seen
            if before is not None and before[0] == seen[0] and before != seen:
                from piolet.app.resources.themes import load_theme

                face.show_theme(load_theme(loaded.path))
        except (OSError, ValueError):
            return
