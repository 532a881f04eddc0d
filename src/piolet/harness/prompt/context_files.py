"""Find the context files (``AGENTS.md`` and its like) that belong to a working folder, and notice when they change.

They are text that the environment holds, so they are read where the tools act; only the user's own file comes from the
agent folder on this machine. Source of the rules: the resources specification, section 1.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping, Sequence
from typing import Protocol, TypeAlias

from piolet.harness.environments.base import Snapshot
from piolet.harness.prompt.records import ContextFile

NAMES = ("AGENTS.override.md", "AGENTS.md", "AGENTS.MD", "CLAUDE.md", "CLAUDE.MD")

_LINKED_WORKTREE = re.compile(r"gitdir: (.+)/\.git/worktrees/[^/\n]+\n?")
_Stamps: TypeAlias = Mapping[str, tuple[int, int]]


class Place(Protocol):
    """The part of an environment that is needed here."""

    async def snapshot(self, paths: Sequence[str], *, contents: bool = True) -> Snapshot: ...
    async def canonical(self, path: str) -> str: ...


class ContextFileFinder:
    """Gives the context files of `cwd` each time it is called, and reads them again only when one has changed.

    `place` is where `cwd` is, `host` where `agent_dir` is (this machine, when the tools act elsewhere).
    """

    def __init__(self, place: Place, cwd: str, agent_dir: str | None = None, host: Place | None = None) -> None:
        self._place = place
        self._folders = ancestors(cwd)
        self._host = host or place
        self._agent_dir = agent_dir
        self._stamps: tuple[_Stamps, _Stamps] | None = None
        self._files: Sequence[ContextFile] = ()

    async def __call__(self) -> Sequence[ContextFile]:
        """Return the user's file, then those from the root of the file system down to `cwd`; each real file once."""
        own = _candidates([self._agent_dir] if self._agent_dir else [])
        project = _candidates(self._folders) + [posixpath.join(folder, ".git") for folder in self._folders]
        if self._stamps is not None and self._stamps == (
            (await self._host.snapshot(own, contents=False)).stamps,
            (await self._place.snapshot(project, contents=False)).stamps,
        ):
            return self._files
        mine, theirs = await self._host.snapshot(own), await self._place.snapshot(project)
        self._stamps = mine.stamps, theirs.stamps
        found = [(self._host, path, mine) for path in _first_of_each([self._agent_dir or ""], mine)]
        paths = await self._without_main_repository(_first_of_each(self._folders, theirs), theirs)
        found += [(self._place, path, theirs) for path in paths]
        files: dict[tuple[int, str], ContextFile] = {}
        for place, path, snapshot in found:
            key = (id(place), await place.canonical(path))
            files.setdefault(key, ContextFile(path, _text(snapshot.contents[path])))
        self._files = tuple(files.values())
        return self._files

    async def _without_main_repository(self, paths: list[str], snapshot: Snapshot) -> list[str]:
        """Drop the main repository's file if the linked worktree inside it brings one of the same name."""
        for root in reversed(self._folders):
            link = _LINKED_WORKTREE.fullmatch(_text(snapshot.contents.get(posixpath.join(root, ".git"), b"")))
            if link is None:
                continue
            main = await self._place.canonical(posixpath.normpath(posixpath.join(root, link[1])))
            names = {posixpath.basename(path) for path in paths if posixpath.dirname(path) == root}
            return [
                path
                for path in paths
                if posixpath.basename(path) not in names or await self._place.canonical(posixpath.dirname(path)) != main
            ]
        return paths


def ancestors(folder: str) -> list[str]:
    """Return `folder` (absolute) and those above it, outermost first."""
    chain = [folder]
    while (parent := posixpath.dirname(chain[0])) != chain[0]:
        chain.insert(0, parent)
    return chain


def _candidates(folders: Sequence[str]) -> list[str]:
    return [posixpath.join(folder, name) for folder in folders for name in NAMES]


def _first_of_each(folders: Sequence[str], snapshot: Snapshot) -> list[str]:
    picked = []
    for folder in folders:
        picked += [path for path in _candidates([folder]) if path in snapshot.contents][:1]
    return picked


def _text(data: bytes) -> str:
    return data.removeprefix(b"\xef\xbb\xbf").decode(errors="replace")
