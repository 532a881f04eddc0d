"""The modules that packages bring along or need: folders behind all others on ``sys.path``.

What this program has itself wins, and of two packages the first. Source: the resources specification, section 11.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from piolet.app.packages.distributions import EXTENSIONS, EntryPoint, distributions, entry_points
from piolet.app.packages.sources import PypiSource, Source

#: In a checkout: where its dependencies are.
DEPENDENCIES: Final = ".pi-deps"

_added: list[ImportFolder] = []


class ImportFolder(Struct, frozen=True):
    """A folder with modules. `source`: the package it belongs to; `distribution`: its name if it is one itself."""

    source: str
    path: str
    distribution: str | None = None

    @property
    def extensions(self) -> list[EntryPoint]:
        """The extensions that the distribution declares."""
        points = entry_points([self.path], EXTENSIONS) if self.distribution else []
        return [point for point in points if point.distribution == self.distribution]


def import_folder(text: str, source: Source, place: Path) -> ImportFolder | None:
    """Return where the modules of the package at `place` are; None if it brings none. `text`: its source as written."""
    if isinstance(source, PypiSource):
        return ImportFolder(text, str(place), source.name)
    folder = place / DEPENDENCIES
    return ImportFolder(text, str(folder)) if folder.is_dir() else None


def own_folders() -> list[str]:
    """Return what is on ``sys.path`` without the folders of packages."""
    theirs = {folder.path for folder in _added}
    return [path for path in sys.path if path not in theirs]


def make_importable(folders: Sequence[ImportFolder]) -> list[str]:
    """Put `folders` on ``sys.path``; return a warning for each distribution that two of them have in two versions."""
    for folder in folders:
        if folder.path not in sys.path:
            sys.path.append(folder.path)
            _added.append(folder)
    warnings = []
    first: dict[str, tuple[str, str]] = {}
    for folder in dict.fromkeys(folders):
        for name, version, _ in distributions(folder.path):
            taken, owner = first.setdefault(name, (version, folder.source))
            if taken != version:
                warnings.append(
                    f"{folder.source} wants {name} {version}, and gets {taken}, which {owner} brought before"
                )
    return warnings
