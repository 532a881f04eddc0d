"""Find every resource that belongs to a working folder, in order of precedence, switched on or off.

Source of the rules: the resources specification, sections 4 to 7 and 11. Nothing of an untrusted project is looked at.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from piolet.app.packages.distributions import EntryPoint
from piolet.app.packages.imports import ImportFolder, import_folder
from piolet.app.packages.manifest import KINDS, Kind, package_root, read_manifest
from piolet.app.packages.sources import (
    PackageError,
    PypiSource,
    identity,
    installed_path,
    parse_source,
)
from piolet.app.resources.patterns import Patterns, is_glob, path_regex
from piolet.app.resources.scan import (
    FOREIGN_SUFFIXES,
    SUFFIXES,
    scan_extensions,
    scan_files,
    scan_skills,
    scan_tree,
)
from piolet.app.settings import Settings
from piolet.app.settings_files import Scope
from piolet.base.paths import resolve_path

Origin: TypeAlias = Literal["top-level", "package"]
#: In place of a file's name: the extension is an entry point of a package that is a distribution.
ENTRY_POINT: Final = "dist:"


class Resource(Struct, frozen=True):
    """One file. `source`: "auto" (found in a folder), "local" (named in the settings) or the package's source string.

    `base` is the folder that patterns are relative to, `real` where `path` leads to.
    """

    kind: Kind
    path: str
    enabled: bool
    scope: Scope
    origin: Origin
    source: str
    base: str
    real: str


class MissingPackage(Struct, frozen=True):
    """A package of the settings that is not on disk (or, with `problem`, cannot be used)."""

    source: str
    scope: Scope
    problem: str | None = None


class Resolution(Struct):
    """What was found. In a list of `resources` the first of a name wins; disabled ones are listed too.

    `foreign`: extensions in TypeScript or JavaScript, which are not loaded. `modules`: where packages have modules.
    """

    resources: dict[Kind, list[Resource]] = field(default_factory=lambda: {kind: [] for kind in KINDS})
    missing: list[MissingPackage] = []
    foreign: list[str] = []
    problems: list[str] = []
    modules: list[ImportFolder] = []


class Places(Struct, frozen=True):
    """The folders that resources are looked for in."""

    cwd: Path
    agent_dir: Path
    home: Path

    def base(self, scope: Scope) -> Path:
        """The folder of a scope's settings file."""
        return self.agent_dir if scope == "user" else self.cwd / ".pi"

    @property
    def for_one_run(self) -> Places:
        """The same with packages that the command line names in place of the user's."""
        return replace(self, agent_dir=self.agent_dir / "tmp" / "extensions")


class PackageEntry(Struct, frozen=True):
    """An entry of ``packages`` in a settings file. `filters`: patterns per kind, [] means none."""

    source: str
    scope: Scope
    autoload: bool = True
    filters: Mapping[Kind, Sequence[str]] = {}


def resolve_resources(
    places: Places, settings: Settings, *, trusted: bool, distributions: Sequence[str] = ()
) -> Resolution:
    """Return the resources of project settings, project folders, user settings, user folders, packages, in this order.

    A user's pattern does not reach the project's files, and the reverse. `distributions`: the names of packages that
    installed distributions declare.
    """
    finder = _Finder(places)
    scopes: list[Scope] = ["project", "user"] if trusted else ["user"]
    for scope in scopes:
        values = settings.project if scope == "project" else settings.user
        for kind in KINDS:
            finder.add_listed(scope, kind, strings(values.get(kind)))
            finder.add_folders(scope, kind, strings(values.get(kind)))
    entries = [
        entry
        for scope in scopes
        for entry in package_entries(settings.project if scope == "project" else settings.user, scope)
    ]
    entries += [PackageEntry(f"dist:{name}", "user") for name in distributions]
    for entry, delta in _without_duplicates(entries, places):
        finder.add_package(entry, delta=delta)
    return finder.found


def resolve_named(places: Places, sources: Sequence[str]) -> Resolution:
    """Return what the packages offer that the command line names, for one run."""
    finder = _Finder(places.for_one_run)
    for source in sources:
        finder.add_package(PackageEntry(source, "user"), delta=False)
    return finder.found


def resolve_package(places: Places, source: str, scope: Scope) -> Resolution:
    """Return what one package offers that is there."""
    finder = _Finder(places)
    finder.add_package(PackageEntry(source, scope), delta=False)
    return finder.found


def package_entries(values: Mapping[str, Any], scope: Scope) -> list[PackageEntry]:
    """Return the entries of ``packages``; what is neither a string nor an object with a source is left out."""
    entries = []
    listed = values.get("packages")
    for item in listed if isinstance(listed, list) else []:
        if isinstance(item, str) and item.strip():
            entries.append(PackageEntry(item, scope))
        elif isinstance(item, dict) and isinstance(item.get("source"), str):
            filters = {kind: strings(item[kind]) for kind in KINDS if isinstance(item.get(kind), list)}
            entries.append(PackageEntry(item["source"], scope, item.get("autoload") is not False, filters))
    return entries


def is_entry_point(path: str) -> bool:
    """Whether the `path` of an extension stands for an entry point."""
    return os.path.basename(path).startswith(ENTRY_POINT)


def strings(value: Any) -> list[str]:
    """Return the strings of a JSON list that are not blank; anything else is an empty list."""
    return [item for item in value if isinstance(item, str) and item.strip()] if isinstance(value, list) else []


def agents_skill_folders(cwd: Path, home: Path) -> list[str]:
    """Return the project's ``.agents/skills`` folders, innermost first: up to the git root, to / without one."""
    chain = [cwd, *cwd.parents]
    git_root = next((folder for folder in chain if (folder / ".git").exists()), chain[-1])
    chain = chain[: chain.index(git_root) + 1]
    own = os.path.realpath(home / ".agents" / "skills")
    folders = [str(folder / ".agents" / "skills") for folder in chain]
    return [folder for folder in folders if os.path.isdir(folder) and os.path.realpath(folder) != own]


def _without_duplicates(entries: Sequence[PackageEntry], places: Places) -> Iterator[tuple[PackageEntry, bool]]:
    """Give each package once: the first entry of an identity, or a project's delta and then the user's entry."""
    seen: dict[str, PackageEntry] = {}
    for entry in entries:
        try:
            key = identity(parse_source(entry.source), places.base(entry.scope), places.home)
        except (PackageError, ValueError):
            key = entry.source
        first = seen.setdefault(key, entry)
        if first is entry:
            yield entry, not entry.autoload
        elif first.scope != entry.scope and not first.autoload:
            seen[key] = entry
            yield entry, not entry.autoload


class _Finder:
    """Collects resources; the first that reaches a real file keeps it."""

    def __init__(self, places: Places) -> None:
        self.found = Resolution()
        self._places = places
        self._taken: set[tuple[Kind, str]] = set()

    def add_listed(self, scope: Scope, kind: Kind, entries: Sequence[str]) -> None:
        """Add what the settings name by path. Globs among the plain entries choose from it."""
        base = self._places.base(scope)
        plain = [entry for entry in entries if entry[:1] not in ("!", "+", "-")]
        patterns = Patterns.of(entry for entry in entries if entry not in plain or is_glob(entry))
        for entry in plain:
            if not is_glob(entry):
                for path in self._collect(kind, self._resolve(entry, base)):
                    self._add(kind, path, patterns.allows(path, str(base)), scope, "top-level", "local", str(base))

    def add_folders(self, scope: Scope, kind: Kind, entries: Sequence[str]) -> None:
        """Add what lies in the folders of a scope; only ``!``, ``+`` and ``-`` entries of its settings matter."""
        base = self._places.base(scope)
        patterns = Patterns.of(entry for entry in entries if entry[:1] in ("!", "+", "-"))
        folder = str(base / kind)
        if kind == "extensions":
            self._add_auto(scope, kind, self._scan_extensions(folder), patterns, str(base))
        elif kind != "skills":
            self._add_auto(scope, kind, scan_files(folder, SUFFIXES[kind]), patterns, str(base))
        else:
            self._add_auto(scope, kind, scan_skills(folder), patterns, str(base))
            home = self._places.home
            own = [str(home / ".agents" / "skills")]
            for agents in own if scope == "user" else agents_skill_folders(self._places.cwd, home):
                paths = scan_skills(agents, loose_below=True)
                self._add_auto(scope, kind, paths, patterns, os.path.dirname(agents))

    def add_package(self, entry: PackageEntry, *, delta: bool) -> None:
        """Add what a package offers; with `delta` only what the entry's patterns speak of."""
        try:
            source = parse_source(entry.source)
            place = installed_path(source, self._places.base(entry.scope), self._places.home)
            if not place.exists():
                self.found.missing.append(MissingPackage(entry.source, entry.scope))
                return
            root = package_root(source, place) if isinstance(source, PypiSource) else place
            modules = import_folder(entry.source, source, place)
            offered = list(self._offered(root, modules.extensions if modules else ()))
        except (PackageError, ValueError) as error:
            self.found.missing.append(MissingPackage(entry.source, entry.scope, str(error)))
            return
        if modules is not None and any(kind == "extensions" for kind, _ in offered):
            self.found.modules.append(modules)
        for kind, path in offered:
            base = str(place if is_entry_point(path) else root if root.is_dir() else root.parent)
            wanted = entry.filters.get(kind)
            patterns = Patterns.of(wanted or ())
            enabled: bool | None = True
            if delta:
                enabled = patterns.decide(path, base)
            elif wanted is not None:
                enabled = bool(wanted) and patterns.allows(path, base)
            if enabled is not None:
                self._add(kind, path, enabled, entry.scope, "package", entry.source, base)

    def _offered(self, root: Path, declared: Sequence[EntryPoint]) -> Iterator[tuple[Kind, str]]:
        """What the package at `root` offers. `declared`: entry points, which count if it offers no extension's file."""
        if root.is_file():
            yield from (("extensions", path) for path in self._collect("extensions", str(root)))
            return
        try:
            manifest = read_manifest(root)
        except PackageError as error:
            self.found.problems.append(str(error))
            manifest = None
        any_found = False
        for kind in KINDS:
            if manifest is not None:
                paths = self._from_manifest(kind, root, manifest.entries.get(kind, ()))
            else:
                paths = self._collect(kind, str(root / kind))
            if kind == "extensions" and not paths:
                paths = [os.path.join(point.folder, f"{ENTRY_POINT}{point.name}") for point in declared]
            any_found = any_found or bool(paths)
            yield from ((kind, path) for path in paths)
        if manifest is None and not any_found and (root / "__init__.py").is_file():
            yield "extensions", str(root)

    def _from_manifest(self, kind: Kind, root: Path, entries: Sequence[str]) -> list[str]:
        """Return the files that a manifest's list means; an entry that leads out of the package means nothing."""
        paths: dict[str, None] = {}
        for entry in (entry.removeprefix("./") for entry in entries if entry[:1] not in ("!", "+", "-")):
            if is_glob(entry):
                starts = scan_tree(str(root), path_regex(entry))
            else:
                start = os.path.normpath(root / entry)
                starts = [start] if Path(start).is_relative_to(root) else []
            for start in starts:
                paths |= dict.fromkeys(self._collect(kind, start))
        patterns = Patterns.of(entry for entry in entries if entry[:1] in ("!", "+", "-"))
        return [path for path in paths if patterns.allows(path, str(root))]

    def _collect(self, kind: Kind, path: str) -> list[str]:
        """Return the files that a path stands for: itself, or what the folder and those below hold."""
        if os.path.isfile(path):
            if kind == "extensions" and path.endswith(FOREIGN_SUFFIXES):
                self.found.foreign.append(path)
                return []
            return [path]
        if kind == "extensions":
            return self._scan_extensions(path)
        return scan_skills(path) if kind == "skills" else scan_files(path, SUFFIXES[kind], recursive=True)

    def _scan_extensions(self, folder: str) -> list[str]:
        scan = scan_extensions(folder)
        self.found.foreign += [path for path in scan.foreign if path not in self.found.foreign]
        self.found.problems += scan.problems
        return scan.files

    def _resolve(self, entry: str, base: Path) -> str:
        try:
            return resolve_path(entry, str(base), home=str(self._places.home))
        except ValueError as error:
            self.found.problems.append(str(error))
            return ""

    def _add_auto(self, scope: Scope, kind: Kind, paths: Sequence[str], patterns: Patterns, base: str) -> None:
        for path in paths:
            self._add(kind, path, patterns.allows(path, base), scope, "top-level", "auto", base)

    def _add(self, kind: Kind, path: str, enabled: bool, scope: Scope, origin: Origin, source: str, base: str) -> None:
        real = os.path.realpath(path)
        if (kind, real) not in self._taken:
            self._taken.add((kind, real))
            self.found.resources[kind].append(Resource(kind, path, enabled, scope, origin, source, base, real))
