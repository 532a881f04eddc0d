"""Colours and what the terminal can do: which theme is in force, and who turns styled lines into strips."""

from __future__ import annotations

import os
from collections.abc import Mapping

from piolet.app.settings import Settings
from piolet.tui.pictures import CELL, PictureRoom
from piolet.tui.spans import Color
from piolet.tui.terminal_caps import (
    CapsChoice,
    TerminalCaps,
    detect,
    has_sixel,
    is_attributes,
    read_cell,
    read_color,
)
from piolet.tui.theme import SYSTEM, Appearance, Theme, appearance_from_colorfgbg, choose_theme
from piolet.tui.theme_builtin import built_in_theme
from piolet.tui.theme_color import luminance
from piolet.tui.theme_system import system_theme
from piolet.tui.widgets.strips import StripMaker

_MIDDLE = 0.18  # the luminance of a background above which it is light


class Looks:
    """The theme in force. Until the settings are read it is the terminal's own."""

    def __init__(self, environ: Mapping[str, str] = os.environ) -> None:
        self._environ = environ
        self._choice = CapsChoice()
        self._sixel = False  # the terminal has said that it draws that
        self.caps: TerminalCaps = detect(environ)
        self.cell = CELL  # width and height in pixels
        self._cell_told = False
        self.appearance: Appearance = appearance_from_colorfgbg(environ.get("COLORFGBG", "")) or "dark"
        self._answers: dict[str, str] = {}
        self._answered = False  # everything that was asked at the start
        self.theme: Theme = self.system()

    def apply(self, settings: Settings, themes: Mapping[str, Theme], chosen: str | None = None) -> str | None:
        """Take on the theme that `chosen`, else the settings, name; return what was wrong with it, if anything."""
        self._choice = CapsChoice(
            settings.terminal_true_color,
            settings.terminal_hyperlinks,
            "none" if settings.terminal_images is False else settings.terminal_images,
        )
        self.caps = detect(self._environ, self._choice, sixel=self._sixel)
        name = choose_theme(chosen or settings.theme, self.appearance) or SYSTEM
        if name == SYSTEM:
            self.theme = self.system()
            return None
        if name in themes:
            self.theme = themes[name]
            return None
        self.theme = built_in_theme(self.appearance)
        return f"There is no theme {name!r}"

    def system(self) -> Theme:
        """Return the theme of what the terminal has said of its colours."""
        return system_theme(self._answers, self.appearance, truecolor=self.caps.colors == "truecolor")

    def hear(self, report: str) -> bool:
        """Take in a reply of the terminal; return whether the colours are to be chosen anew."""
        if is_attributes(report):
            before, self._answered = self._answered, True
            return bool(self._answers) and not before
        color = read_color(report)
        if color is None:
            return False
        changed = self._answers.get(color[0]) != color[1]
        self._answers[color[0]] = color[1]
        if color[0] == "11":
            self.appearance = "light" if luminance(color[1]) > _MIDDLE else "dark"
        return changed and self._answered

    def hear_of_pictures(self, report: str) -> bool:
        """Take in a reply of the terminal; return whether pictures are to be drawn in another way."""
        before = self.caps.images, self.cell
        self._sixel = self._sixel or has_sixel(report)
        self.caps = detect(self._environ, self._choice, sixel=self._sixel)
        if (cell := read_cell(report)) is not None:
            self.cell, self._cell_told = cell, True
        return (self.caps.images, self.cell) != before

    def measure(self, cell: tuple[int, int] | None) -> bool:
        """Take in what the system says of the pixels of a cell, unless the terminal says it; return whether pictures
        are to be drawn in another way."""
        before = self.cell
        if cell is not None and not self._cell_told:
            self.cell = cell
        return self.cell != before

    def picture_room(self, settings: Settings) -> PictureRoom | None:
        """Return the room for a picture in the transcript; None if none is drawn."""
        if self.caps.images == "none" or not settings.show_images:
            return None
        return PictureRoom(settings.image_width_cells, self.cell)

    @property
    def palette(self) -> Mapping[str, Color]:
        """The literal colour of each token as this terminal can show it; empty without colours."""
        if self.caps.colors == "none":
            return {}
        return self.theme.palette(truecolor=self.caps.colors == "truecolor")

    def strips(self) -> StripMaker:
        """Return who makes strips in the present colours."""
        return StripMaker(self.palette, hyperlinks=self.caps.hyperlinks)
