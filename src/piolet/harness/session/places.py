"""Where the sessions of a working directory are kept, and which one is meant (session format, sections 1 and 10)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import NamedTuple

from msgspec import Struct

from piolet.base.json import loads
from piolet.harness.session.entries import Header
from piolet.harness.session.listing import SessionInfo, list_files, same_folder
from piolet.harness.session.naming import default_folder
from piolet.harness.session.reading import read_header

_HEADER_BYTES = 1 << 20


class Found(NamedTuple):
    """A session that was looked for. `here`: it belongs to the working directory that was asked for."""

    path: str
    id: str
    cwd: str
    here: bool


class SessionPlace(Struct, frozen=True):
    """Where sessions of `cwd` are kept.

    A `flat` folder, chosen by the user, holds sessions of any working directory; else `root` has a folder for each.
    """

    cwd: str
    folder: str
    root: str
    flat: bool

    @classmethod
    def of(cls, cwd: str, agent_dir: str, chosen: str | None = None) -> SessionPlace:
        """Return the place for `cwd`: the `chosen` folder (``~`` expanded, relative to `cwd`), else the default."""
        if chosen:
            folder = os.path.normpath(os.path.join(cwd, os.path.expanduser(chosen)))
            return cls(cwd, folder, folder, True)
        folder = default_folder(agent_dir, cwd)
        return cls(cwd, folder, os.path.dirname(folder), False)

    def sessions(self) -> list[SessionInfo]:
        """Return the sessions of the working directory, newest first."""
        return list_files(_files(self.folder), self.cwd if self.flat else None)

    def most_recent(self) -> str | None:
        """Return the session file of the working directory that was written last, None if there is none."""
        for path, header in _by_file_time(_files(self.folder)):
            if not self.flat or same_folder(header.cwd, self.cwd):
                return path
        return None

    def find(self, reference: str) -> Found | None:
        """Return the session with that id or the newest with that beginning of an id: here first, then anywhere."""
        return next(iter(self.find_all(reference)), None)

    def find_all(self, reference: str) -> list[Found]:
        """Return the sessions with that id, else those with that beginning of an id, newest first.

        Those of other working directories only if there is none here.
        """
        if not reference:
            return []
        if found := _matching(self._here(), reference):
            return found
        everywhere = _by_file_time(self.all_files())
        return _matching([Found(path, header.id, header.cwd or "", False) for path, header in everywhere], reference)

    def find_id(self, id: str) -> str | None:
        """Return the file of the session with exactly that id here."""
        return next((found.path for found in self._here() if found.id == id), None)

    def _here(self) -> list[Found]:
        return [
            Found(path, header.id, header.cwd or "", True)
            for path, header in _by_file_time(_files(self.folder))
            if not self.flat or same_folder(header.cwd, self.cwd)
        ]

    def files(self) -> Iterator[str]:
        """Give the files of the folder: in a flat one those of other working directories too."""
        return _files(self.folder)

    def all_files(self) -> Iterator[str]:
        """Give the files of all working directories."""
        if self.flat:
            yield from _files(self.folder)
            return
        for entry in _scan(self.root):
            if _holds(entry.is_dir):
                yield from _files(entry.path)


def discover_header(path: str) -> Header | None:
    """Return the header of a file from its beginning alone, None if it is no session or cannot be read."""
    try:
        with open(path, "rb") as file:
            text = file.read(1 << 12)
            while True:
                *lines, rest = text.removeprefix(b"\xef\xbb\xbf").split(b"\n")
                more = file.read(len(text)) if len(text) < _HEADER_BYTES else b""
                for line in lines if more else [*lines, rest]:
                    try:
                        return read_header(loads(line))
                    except ValueError:
                        continue
                if not more:
                    return None
                text += more
    except OSError:
        return None


def _matching(sessions: list[Found], reference: str) -> list[Found]:
    exact = [found for found in sessions if found.id == reference]
    return exact or [found for found in sessions if found.id.startswith(reference)]


def _by_file_time(paths: Iterator[str]) -> Iterator[tuple[str, Header]]:
    """Give files with a session header, the one written last first."""
    times = []
    for path in paths:
        try:
            times.append((os.stat(path).st_mtime_ns, path))
        except OSError:
            continue
    for _, path in sorted(times, reverse=True):
        header = discover_header(path)
        if header is not None:
            yield path, header


def _files(folder: str) -> Iterator[str]:
    return (entry.path for entry in _scan(folder) if entry.name.endswith(".jsonl") and _holds(entry.is_file))


def _holds(question: Callable[[], bool]) -> bool:
    """Answer what a folder's entry is asked; False if that cannot be seen, as of a link that leads to itself."""
    try:
        return question()
    except OSError:
        return False


def _scan(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return []
