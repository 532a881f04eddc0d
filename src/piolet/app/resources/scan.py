"""Walk folders for resource files, past hidden names, ``node_modules`` and what ignore files hide.

Nothing is read but ignore files and, for extensions, manifests. Lists are sorted by name. Source of the rules: the
resources specification, sections 4, 5 and 7, and the extensions specification, section 2.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from piolet.app.packages.manifest import Kind, read_manifest
from piolet.app.packages.sources import PackageError
from piolet.harness.environments.ignore import FOR_FIND, FolderRules

SKILL_FILE = "SKILL.md"
SUFFIXES: dict[Kind, str] = {"skills": ".md", "prompts": ".md", "themes": ".json", "extensions": ".py"}
FOREIGN_SUFFIXES = (".ts", ".js", ".mts", ".mjs", ".cts", ".cjs")


class Folder(Struct, frozen=True):
    """A folder on the walk, with the rules of ignore files that hold in it and the real folders that lead to it."""

    path: str
    rules: FolderRules
    above: frozenset[str] = frozenset()

    @classmethod
    def root(cls, path: str) -> Folder:
        """Begin a walk; ignore files above `path` do not count."""
        return cls(path, FolderRules.none(FOR_FIND))._entered()

    def entries(self) -> Iterator[str | Folder]:
        """Yield what a walk may see in this folder, by name: paths of files, and folders. A loop of links ends here."""
        for name in sorted(_names(self.path)):
            if name.startswith(".") or name == "node_modules":
                continue
            path = os.path.join(self.path, name)
            is_folder = os.path.isdir(path)
            if self.hides(name, is_folder=is_folder):
                continue
            if is_folder and os.path.realpath(path) not in self.above:
                yield Folder(path, self.rules, self.above)._entered()
            elif os.path.isfile(path):
                yield path

    def hides(self, name: str, *, is_folder: bool = False) -> bool:
        """Whether ignore files hide the entry `name` of this folder."""
        return self.rules.ignores(name, is_folder=is_folder)

    def _entered(self) -> Folder:
        texts = {name: _text(os.path.join(self.path, name)) for name in FOR_FIND.names}
        found = {name: text for name, text in texts.items() if text is not None}
        rules = self.rules.enter(os.path.basename(self.path), found, has_git=False)
        return Folder(self.path, rules, self.above | {os.path.realpath(self.path)})


def scan_skills(folder: str, *, loose_below: bool = False) -> list[str]:
    """Return the skill files in `folder`: the one SKILL.md of a folder, else loose files and what its folders hold.

    Loose ``*.md`` count directly in `folder`; with `loose_below` only in the folders below it.
    """
    if not os.path.isdir(folder):
        return []
    return list(_skills(Folder.root(folder), loose=not loose_below, loose_below=loose_below))


def scan_files(folder: str, suffix: str, *, recursive: bool = False) -> list[str]:
    """Return the files in `folder` that end in `suffix`."""
    if not os.path.isdir(folder):
        return []

    def walk(here: Folder) -> Iterator[str]:
        for entry in here.entries():
            if isinstance(entry, Folder):
                yield from walk(entry) if recursive else ()
            elif entry.endswith(suffix):
                yield entry

    return list(walk(Folder.root(folder)))


class ExtensionScan(Struct):
    """`files` are modules to load. `foreign`: TypeScript or JavaScript, which cannot be. `problems`: bad manifests."""

    files: list[str] = []
    foreign: list[str] = []
    problems: list[str] = []


def scan_extensions(folder: str) -> ExtensionScan:
    """Return the extensions in `folder`: itself if it has an entry, else its modules and folders with an entry."""
    found = ExtensionScan()
    if not os.path.isdir(folder):
        return found
    here = Folder.root(folder)
    if _entries(here, found):
        return found
    for entry in here.entries():
        path = entry.path if isinstance(entry, Folder) else entry
        if os.path.basename(path).startswith("_"):
            continue
        if isinstance(entry, Folder):
            if not _entries(entry, found):
                index = [os.path.join(path, f"index{suffix}") for suffix in FOREIGN_SUFFIXES]
                found.foreign += [file for file in index if os.path.isfile(file)][:1]
        elif path.endswith(".py"):
            found.files.append(path)
        elif path.endswith(FOREIGN_SUFFIXES):
            found.foreign.append(path)
    return found


def scan_tree(folder: str, wanted: re.Pattern[str]) -> list[str]:
    """Return the files and folders below `folder` whose path from it is `wanted`. Ignore files do not count."""
    found = []
    for parent, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name != "node_modules")
        for name in sorted([*folders, *files]):
            path = os.path.join(parent, name)
            if wanted.fullmatch(os.path.relpath(path, folder)):
                found.append(path)
    return sorted(found)


def _skills(here: Folder, *, loose: bool, loose_below: bool) -> Iterator[str]:
    own = os.path.join(here.path, SKILL_FILE)
    if os.path.isfile(own) and not here.hides(SKILL_FILE):
        yield own
        return
    for entry in here.entries():
        if isinstance(entry, Folder):
            yield from _skills(entry, loose=loose_below, loose_below=loose_below)
        elif loose and entry.endswith(".md"):
            yield entry


def _entries(here: Folder, found: ExtensionScan) -> bool:
    """Add the entries of a folder that is one extension; return whether it is."""
    listed = _listed_entries(Path(here.path), found)
    package = os.path.join(here.path, "__init__.py")
    if not listed and os.path.isfile(package) and not here.hides("__init__.py"):
        listed = [package]
    found.files += listed
    return bool(listed)


def _listed_entries(root: Path, found: ExtensionScan) -> list[str]:
    """Return the modules and packages that the manifest of an extension's folder lists and that are there."""
    if not any((root / name).is_file() for name in ("package.json", "pi.toml")):
        return []
    try:
        manifest = read_manifest(root)
    except PackageError as error:
        found.problems.append(str(error))
        return []
    listed = manifest.entries.get("extensions", ()) if manifest else ()
    paths = [os.path.normpath(root / entry) for entry in listed]
    found.foreign += [path for path in paths if path.endswith(FOREIGN_SUFFIXES) and os.path.isfile(path)]
    return [path for path in paths if (path.endswith(".py") and os.path.isfile(path)) or _is_package(path)]


def _is_package(path: str) -> bool:
    return os.path.isfile(os.path.join(path, "__init__.py"))


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []  # closed to us, or gone: nothing to find


def _text(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return None
