"""The packages of one settings file: added, taken out, renewed, switched (the resources specification, section 11)."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from piolet.app.packages.distributions import PACKAGES, entry_points
from piolet.app.packages.fetch import Fetcher
from piolet.app.packages.imports import own_folders
from piolet.app.packages.manifest import KINDS
from piolet.app.packages.sources import LocalSource, PackageError, Source, identity, installed_path, parse_source
from piolet.app.resources.resolve import Places, Resource, resolve_package, resolve_resources
from piolet.app.settings_files import Scope, SettingsFiles
from piolet.base.paths import resolve_path


class Installed(Struct, frozen=True):
    """An entry of ``packages``. `path`: where it is, or would be; None for what is no package, as `problem` says.

    Of one that was just installed, `problem` says what of it cannot be used.
    """

    source: str
    scope: Scope
    path: Path | None
    pinned: bool = False
    problem: str | None = None

    @property
    def present(self) -> bool:
        return self.path is not None and self.path.exists()


class PackageManager:
    """Works on the user's settings file, or with `scope` "project" on the project's."""

    def __init__(self, files: SettingsFiles, places: Places, scope: Scope = "user") -> None:
        self._files = files
        self._places = places
        self._scope: Scope = scope
        settings = files.settings
        self._fetcher = Fetcher(places.base(scope), places.home, pip=settings.pip_command, npm=settings.npm_command)

    def install(self, text: str) -> Installed:
        """Fetch a package and enter it in the settings; the same package in another version takes its place.

        Raises `PackageError`, `SettingsError`; the entry is made only when the package is there.
        """
        source = _named(text)
        if isinstance(source, LocalSource):
            if text.startswith("git:"):
                raise PackageError(
                    f"{text} names no repository; write git:HOST/USER/REPO, a URL of https or ssh, or git:file:///PATH"
                )
            text = self._stored_path(source)
            source = parse_source(text)
        place = self._fetcher.fetch(source)
        if isinstance(source, LocalSource):
            _check_file(place)
        problem = self._problem(text)
        if problem and isinstance(source, LocalSource):
            raise PackageError(f"{place} was not installed: {problem}")
        entries = self._entries()
        index = self._find(text, entries)
        if index is None:
            entries.append(text)
        elif isinstance(entries[index], dict):
            entries[index] = {**entries[index], "source": text}
        else:
            entries[index] = text
        self._files.write(["packages"], entries, self._scope)
        return replace(self._installed(text), problem=problem)

    def remove(self, text: str) -> None:
        """Take a package out of the settings and delete what was fetched. Raises `PackageError` if it is not there."""
        entries = self._entries()
        if text not in map(_source_of, entries):
            source = _named(text)
            text = self._stored_path(source) if isinstance(source, LocalSource) else text
        place = self._find(text, entries)
        if place is None:
            raise PackageError(f"{text} is not installed here; `piolet list` shows what is")
        del entries[place]
        self._files.write(["packages"], entries or None, self._scope)
        if self._installed(text).path is not None:
            self._fetcher.remove(parse_source(text))
        self._files.remove_empty(self._scope)

    def update(self, text: str | None = None) -> Iterator[Installed]:
        """Fetch packages anew, all or the one named; pinned ones stay. Yield each that was fetched.

        Raises `PackageError` at the end for those that could not be.
        """
        problems = []
        for installed in self.packages():
            if installed.path is None or (text is not None and not self._is_same(installed.source, text)):
                continue
            source = parse_source(installed.source)
            if not installed.pinned and not isinstance(source, LocalSource):
                try:
                    self._fetcher.fetch(source)
                except PackageError as error:
                    problems.append(str(error))
                else:
                    yield installed
        if problems:
            raise PackageError("\n".join(problems))

    def has(self, text: str) -> bool:
        """Whether the package of a source string is in the settings file."""
        return self._find(text, self._entries()) is not None

    def packages(self) -> list[Installed]:
        """Return the packages of the settings file, in its order."""
        return [self._installed(_source_of(entry)) for entry in self._entries() if _source_of(entry)]

    def resources(self) -> list[Resource]:
        """Return every resource that this scope could switch, on or off: its own, a project also those of the user."""
        distributions = [point.name for point in entry_points(own_folders(), PACKAGES)]
        trusted = self._scope == "project"
        found = resolve_resources(self._places, self._files.settings, trusted=trusted, distributions=distributions)
        every = [one for kind in KINDS for one in found.resources[kind]]
        return [one for one in every if one.scope == self._scope or (trusted and one.origin == "package")]

    def switch(self, resource: Resource, *, on: bool) -> None:
        """Switch one resource on or off: a ``+path`` or ``-path`` in its package's filter or the list of its kind."""
        name = str(Path(resource.path).relative_to(resource.base))
        entry = f"{'+' if on else '-'}{name}"
        if resource.origin == "top-level":
            key: list[str] = [resource.kind]
            values = self._values().get(resource.kind)
            self._files.write(key, [*_without(values, name), entry], self._scope)
            return
        entries = self._entries()
        text = self._source_here(resource)
        place = self._find(text, entries)
        if place is None:  # it is the user's, and only this is changed; or a distribution, found without an entry
            place = len(entries)
            entries.append({"source": text, "autoload": False} if resource.scope != self._scope else text)
        package = entries[place] if isinstance(entries[place], dict) else {"source": entries[place]}
        entries[place] = {**package, resource.kind: [*_without(package.get(resource.kind), name), entry]}
        self._files.write(["packages"], entries, self._scope)

    # ---- inside

    def _values(self) -> dict[str, Any]:
        settings = self._files.settings
        return dict(settings.user if self._scope == "user" else settings.project)

    def _entries(self) -> Any:
        listed = self._values().get("packages")
        return list(listed) if isinstance(listed, list) else []

    def _find(self, text: str, entries: Sequence[Any]) -> int | None:
        places = (i for i, entry in enumerate(entries) if _source_of(entry) and self._is_same(_source_of(entry), text))
        return next(places, None)

    def _is_same(self, one: str, other: str) -> bool:
        """Whether two source strings name one package; those that name none are the same if they are written so."""
        try:
            base, home = self._places.base(self._scope), self._places.home
            return identity(parse_source(one), base, home) == identity(parse_source(other), base, home)
        except (PackageError, ValueError):
            return one == other

    def _installed(self, text: str) -> Installed:
        try:
            source = parse_source(text)
            path = installed_path(source, self._places.base(self._scope), self._places.home)
        except (PackageError, ValueError) as error:
            return Installed(text, self._scope, None, problem=str(error))
        return Installed(text, self._scope, path, not isinstance(source, LocalSource) and source.pinned)

    def _source_here(self, resource: Resource) -> str:
        """The source string of a resource's package, as it would be written in this settings file."""
        if resource.scope == self._scope or not isinstance(source := parse_source(resource.source), LocalSource):
            return resource.source
        return str(installed_path(source, self._places.base(resource.scope), self._places.home))

    def _stored_path(self, source: LocalSource) -> str:
        """A path is given relative to the working folder. The user's settings keep it whole; the project's relative to
        themselves, for everybody who has the project, unless it leads elsewhere from the root."""
        cwd = self._places.cwd
        try:
            path = resolve_path(source.path, str(cwd), home=str(self._places.home))
        except ValueError as error:
            raise PackageError(str(error)) from None
        is_whole = source.path.startswith(("/", "~", "file:")) and not Path(path).is_relative_to(cwd)
        if self._scope == "user" or is_whole:
            return path
        return os.path.relpath(path, self._places.base("project"))

    def _problem(self, text: str) -> str | None:
        """Return what is wrong with a package that is there; None if it offers something and all of it can be used."""
        found = resolve_package(self._places, text, self._scope)
        said = [missing.problem for missing in found.missing if missing.problem] + found.problems
        if said:
            return said[0]
        if found.foreign or found.modules or any(found.resources.values()):
            return None
        return "it offers no extensions, skills, prompts or themes"


def _named(text: str) -> Source:
    if not text.strip():
        raise PackageError("A package has no empty name; . is the working folder")
    return parse_source(text)


def _check_file(place: Path) -> None:
    """Raise `PackageError` for what is neither a folder nor an extension."""
    if place.suffix == ".whl":
        raise PackageError(
            f"{place} is a wheel: install it where piolet is installed (with pipx: pipx inject piolet FILE), "
            "and what it declares is used without an entry"
        )
    if not place.is_dir() and not (place.is_file() and place.suffix == ".py"):
        raise PackageError(f"{place} is no package: that is a folder, or one extension as a .py file")


def _source_of(entry: Any) -> str:
    source = entry.get("source") if isinstance(entry, dict) else entry
    return source if isinstance(source, str) else ""


def _without(values: Any, name: str) -> list[Any]:
    """The patterns without those that speak of exactly `name`."""
    listed = values if isinstance(values, list) else []
    return [value for value in listed if value not in (f"+{name}", f"-{name}")]
