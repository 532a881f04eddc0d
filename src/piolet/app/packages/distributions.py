"""Entry points of installed distributions: for extensions, and for packages of resources.

Only one file of each distribution is read: `importlib.metadata` would cost start-up more than all the rest.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final

from msgspec import Struct

EXTENSIONS: Final = "pi.extensions"
PACKAGES: Final = "pi.packages"
_GROUPS: Final = (EXTENSIONS, PACKAGES)


class EntryPoint(Struct, frozen=True):
    """`value`: ``module:function``, or a module. `distribution`: its normal name. `folder`: where that is installed."""

    name: str
    value: str
    distribution: str
    folder: str

    @property
    def module(self) -> Sequence[str]:
        """The parts of the module's name; empty if it is none."""
        parts = self.value.partition(":")[0].strip().split(".")
        return parts if all(part.isidentifier() for part in parts) else ()


def entry_points(folders: Sequence[str], group: str) -> list[EntryPoint]:
    """Return the entry points of `group` that distributions in `folders` declare; the first of a name counts."""
    found: dict[str, EntryPoint] = {}
    for folder in dict.fromkeys(folders):
        try:
            changed = os.stat(folder or ".").st_mtime_ns
        except OSError:
            continue
        for point in _declared(folder, changed)[group]:
            found.setdefault(point.name, point)
    return list(found.values())


def module_folder(point: EntryPoint) -> Path | None:
    """Return the folder of the import package that an entry point names, also of one that is installed in place."""
    if not point.module:
        return None
    top, *rest = point.module
    place = Path(point.folder, top)
    if not place.is_dir():
        import importlib.util

        spec = importlib.util.find_spec(top)
        if spec is None or not spec.submodule_search_locations:
            return None
        place = Path(spec.submodule_search_locations[0])
    place = place.joinpath(*rest)
    return place if place.is_dir() else None


def normal_name(name: str) -> str:
    """Return the one spelling of a distribution's name (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def distributions(folder: str) -> Iterator[tuple[str, str, str]]:
    """Yield normal name, version and metadata folder of each distribution in `folder`, by name."""
    try:
        names = sorted(name for name in os.listdir(folder or ".") if name.endswith(".dist-info"))
    except OSError:
        return
    for name in names:
        distribution, _, version = name.removesuffix(".dist-info").partition("-")
        yield normal_name(distribution), version, os.path.join(folder, name)


@lru_cache(maxsize=100)
def _declared(folder: str, changed: int) -> Mapping[str, Sequence[EntryPoint]]:
    """The entry points in one folder, by group. `changed`: when something was last added to it or removed."""
    found: dict[str, list[EntryPoint]] = {group: [] for group in _GROUPS}
    for distribution, _, info in distributions(folder):
        try:
            with open(os.path.join(info, "entry_points.txt"), "rb") as file:
                data = file.read()
        except OSError:
            continue
        for group in _GROUPS:
            if f"[{group}]".encode() in data:
                for name, value in _section(group, data.decode("utf-8", "replace")):
                    found[group].append(EntryPoint(name, value, distribution, folder))
    return found


def _section(group: str, text: str) -> Iterator[tuple[str, str]]:
    section = re.search(rf"^\[{re.escape(group)}\][ \t]*$(.*?)(?=^\[|\Z)", text, re.DOTALL | re.MULTILINE)
    for line in section[1].splitlines() if section else ():
        name, equals, value = line.partition("=")
        if equals and not name.lstrip().startswith(("#", ";")):
            yield name.strip(), value.strip()
