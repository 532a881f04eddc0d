"""Load themes from files and folders. Source of the rules: the resources specification, section 7."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec import Struct

from piolet.app.json_files import parse_object, read_text
from piolet.app.resources.diagnostics import Diagnostic, collision
from piolet.app.resources.scan import SUFFIXES, scan_files
from piolet.tui.theme import Theme, parse_theme
from piolet.tui.theme_builtin import BUILT_IN_THEMES, built_in_theme


class LoadedTheme(Struct, frozen=True):
    """A theme and the file that it comes from; None for a built-in one. `saved`: when the file was changed last, in
    nanoseconds."""

    theme: Theme
    path: str | None
    saved: int = 0


def load_themes(paths: Iterable[str]) -> tuple[dict[str, LoadedTheme], list[Diagnostic]]:
    """Return the themes at `paths`, then the built-in ones, by name, and what was wrong. The first of a name wins."""
    themes: dict[str, LoadedTheme] = {}
    diagnostics: list[Diagnostic] = []
    for path in dict.fromkeys(_files(paths, diagnostics)):
        try:
            loaded = load_theme(path)
        except (OSError, ValueError) as error:
            diagnostics.append(Diagnostic("invalid-theme", path, str(error)))
            continue
        winner = themes.setdefault(loaded.theme.name, loaded)
        if winner is not loaded and winner.path is not None:
            diagnostics.append(collision("theme", loaded.theme.name, path, winner.path))
    for name in BUILT_IN_THEMES:
        if name not in themes:
            themes[name] = LoadedTheme(built_in_theme(name), None)
    return themes, diagnostics


def load_theme(path: str) -> LoadedTheme:
    """Return the theme of one file. OSError, or ValueError that says what is wrong."""
    saved = os.stat(path).st_mtime_ns
    text = read_text(Path(path))
    if text is None:
        raise FileNotFoundError(f"{path} is gone")
    return LoadedTheme(parse_theme(parse_object(text)), path, saved)


def _files(paths: Iterable[str], diagnostics: list[Diagnostic]) -> Iterator[str]:
    for path in paths:
        if os.path.isdir(path):
            yield from scan_files(path, SUFFIXES["themes"])
        elif os.path.isfile(path):
            yield path
        else:
            diagnostics.append(Diagnostic("path-missing", path, "there is no such file or folder"))
