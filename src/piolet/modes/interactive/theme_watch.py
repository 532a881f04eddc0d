"""Looks after the files of the themes in use: what is saved there is seen at once."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from piolet.modes.interactive.face import Face

SECONDS = 1.0


class ThemeWatch:
    """`look` is called now and then; a file that cannot be read leaves the colours as they are until it can."""

    def __init__(self, face: Face) -> None:
        self._face = face

    def look(self) -> None:
        """Take on the themes of the settings whose files have changed, and show the one that is in force."""
        face = self._face
        if not face.ready:
            return
        setting = face.theme_setting
        changed = [self._take_on(name.strip()) for name in (setting or "").split("/")]
        if any(changed):
            face.use_theme(setting)

    def _take_on(self, name: str) -> bool:
        """Read the theme `name` anew if its file has changed; return whether it was."""
        themes = self._face.runtime.services.resources.themes
        loaded = themes.get(name)
        if loaded is None or loaded.path is None:
            return False
        try:
            if os.stat(loaded.path).st_mtime_ns == loaded.saved:
                return False
            from piolet.app.resources.themes import load_theme

            themes[name] = load_theme(loaded.path)
        except (OSError, ValueError):
            return False
        return True
