"""Looks after the files of the themes in use: what is saved there is seen at once."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from piolet.modes.interactive.face import Face

SECONDS = 1.0


class ThemeWatch:
    """`look` is called now and then; a file that cannot be read leaves the colours as they are until it can. What is
    wrong with it is told once, when it is no file that is just being written."""

    def __init__(self, face: Face) -> None:
        self._face = face
        self._broken: dict[str, int] = {}  # when the file of a theme was saved with a fault
        self._told: dict[str, str] = {}

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
            saved = os.stat(loaded.path).st_mtime_ns
            if saved == loaded.saved:
                return False
            from piolet.app.resources.themes import load_theme

            themes[name] = load_theme(loaded.path)
        except OSError:
            return False
        except ValueError as error:
            self._tell(name, saved, str(error))
            return False
        self._told.pop(name, None)
        return True

    def _tell(self, name: str, saved: int, fault: str) -> None:
        """Tell of a fault that is still there at the second look, unless it was told already."""
        before, self._broken[name] = self._broken.get(name), saved
        if before == saved and self._told.get(name) != fault:
            self._told[name] = fault
            self._face.presenter.warn(f"The theme {name!r} stays as it was: {fault}")
