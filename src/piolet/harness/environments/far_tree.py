"""Searching on the far side of a `ShellEnvironment` by what is fetched from there in few, large pieces.

First the folders, one command for each level of the tree, without those that are ignored; then the search of every
other environment runs over them, and for contents fetches files by the dozen.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, TypeVar

from msgspec import Struct

from piolet.base.abort import AbortSignal
from piolet.harness.environments import far_scripts, search
from piolet.harness.environments.automaton import required_literal
from piolet.harness.environments.base import (
    DirectoryEntry,
    FileInfo,
    FindQuery,
    FindResult,
    GrepQuery,
    GrepResult,
)
from piolet.harness.environments.far_calls import new_mark
from piolet.harness.environments.ignore import FOR_FIND, FOR_GREP, FolderRules, IgnoreFiles
from piolet.harness.environments.patterns import parse

if TYPE_CHECKING:
    from piolet.harness.environments.shell import ShellEnvironment

#: So many files are fetched at once, and so much of each; of a larger one all comes when it is needed.
_FILES: Final = 48
_HEAD_BYTES: Final = 512 * 1024
#: Bytes of paths that one command is given.
_PATH_BYTES: Final = 96 * 1024
_UTF16_MARKS: Final = ("\udcff\udcfe", "\udcfe\udcff")


async def find(far: ShellEnvironment, query: FindQuery, signal: AbortSignal | None) -> FindResult:
    only = search.GlobFilter(query.glob) if query.glob else None
    tree = FarTree(far)
    await tree.survey(query.path, FOR_FIND, only, signal)
    return await search.find(tree, query, signal)


async def grep(far: ShellEnvironment, query: GrepQuery, signal: AbortSignal | None) -> GrepResult:
    pattern = parse(query.pattern, ignore_case=query.ignore_case, literal=query.literal)
    only = search.GlobFilter(query.glob) if query.glob else None
    tree = FarTree(far)
    if await tree.survey(query.path, FOR_GREP, only, signal):
        walk = search.walk(tree, query.path, FOR_GREP, only, signal)
        files = [posixpath.join(query.path, place.path) async for place in walk if place.entry.kind == "file"]
        await tree.plan_reading(files, required_literal(pattern))
    return await search.grep(tree, query, signal)


class _Level(Struct, frozen=True):
    """A folder to look into: its path, the way to it from the root of the search, the rules of the folder above."""

    path: str
    way: str
    name: str
    above: FolderRules


_Item = TypeVar("_Item", str, _Level)


class FarTree:
    """What a search needs of an environment, from what was fetched where that is possible."""

    def __init__(self, far: ShellEnvironment) -> None:
        self._far = far
        self._real: dict[str, str] = {}
        self._there: dict[str, FileInfo | None] = {}
        self._entries: dict[str, list[DirectoryEntry]] = {}
        self._ignore_texts: dict[str, bytes] = {}
        self._order: dict[str, int] = {}  # the files to be read, and in which order
        self._files: list[str] = []
        self._passed_over: frozenset[str] = frozenset()
        self._heads: dict[str, bytes] = {}

    # ------------------------------------------------------------------------------------------- what a search asks

    async def canonical(self, path: str) -> str:
        if path not in self._real:
            self._real[path] = await self._far.canonical(path)
        return self._real[path]

    async def stat(self, path: str, *, follow: bool = True) -> FileInfo | None:
        if path not in self._there:
            self._there[path] = await self._far.stat(path)
        return self._there[path]

    async def list_directory(self, path: str) -> list[DirectoryEntry]:
        entries = self._entries.get(path)
        return await self._far.list_directory(path) if entries is None else entries

    async def read_bytes(self, path: str, *, offset: int = 0, limit: int | None = None) -> bytes:
        if limit is None and path in self._ignore_texts:
            return self._ignore_texts[path]
        if path in self._passed_over:
            return b""
        if offset == 0 and limit is not None and path in self._order:
            if path not in self._heads:
                await self._fetch_from(path)
            head = self._heads.pop(path)
            if len(head) < _HEAD_BYTES:
                return head
        return await self._far.read_bytes(path, offset=offset, limit=limit)

    # -------------------------------------------------------------------------------------------- what is fetched

    async def survey(
        self, root: str, files: IgnoreFiles, only: search.GlobFilter | None, signal: AbortSignal | None
    ) -> bool:
        """Fetch the folders below `root` that are not ignored, and the ignore files; False if it is no folder."""
        info = await self.stat(root)
        if info is None or info.kind != "directory":
            return False
        real = await self.canonical(root)
        await self._peek_above(real, files)
        level = [_Level(root, "", posixpath.basename(real), await search.rules_above(self, real, files))]
        while level:
            following: list[_Level] = []
            for some in _portions(level):
                if signal is not None:
                    signal.throw_if_aborted()
                paths = [folder.path for folder in some]
                answer = await self._far.ask(far_scripts.SURVEY, [" ".join(files.names), *paths])
                records = iter(answer.split(b"\0"))
                for folder in some:
                    following += self._take(folder, records, only)
            level = following
        return True

    async def _peek_above(self, real: str, files: IgnoreFiles) -> None:
        """Fetch what `search.rules_above` will ask for."""
        folders = [real[:place] or "/" for place, character in enumerate(real) if character == "/"]
        paths = [posixpath.join(folder, name) for folder in folders for name in (*files.names, ".git")]
        answer = await self._far.ask(far_scripts.PEEK, paths)
        for path, record in zip(paths, answer.split(b"\0"), strict=False):
            self._there.setdefault(path, FileInfo("file", 0, 0, 0) if record.startswith(b"+") else None)
            self._ignore_texts[path] = record[1:]

    def _take(self, folder: _Level, records: Iterator[bytes], only: search.GlobFilter | None) -> list[_Level]:
        """Take in the records of a folder; return the folders in it that are to be looked into."""
        from piolet.harness.environments.shell import directory_entry

        entries: list[DirectoryEntry] = []
        texts: dict[str, str] = {}
        while record := next(records, b""):
            if record.startswith(b"t"):
                name = record[2:].decode()
                text = self._ignore_texts[posixpath.join(folder.path, name)] = next(records)
                texts[name] = text.decode("utf-8", "surrogateescape")
            else:
                entries.append(directory_entry(record))
        self._entries[folder.path] = entries
        rules = folder.above.enter(folder.name, texts, has_git=any(entry.name == ".git" for entry in entries))
        return [
            _Level(posixpath.join(folder.path, entry.name), f"{folder.way}{entry.name}/", entry.name, rules)
            for entry in entries
            if entry.kind == "directory" and not search.is_left_out(rules, only, folder.way + entry.name, entry)
        ]

    async def plan_reading(self, files: Sequence[str], literal: str) -> None:
        """Make ready to read `files` in this order; those without `literal`, unless it is empty, are passed over."""
        wanted = set(files)
        if literal:
            wanted = {path for path in files if "\n" in path}
            for some in _portions(files):
                answer = await self._far.ask(far_scripts.CONTAINING, [literal, *_UTF16_MARKS, *some])
                wanted.update(answer.decode("utf-8", "surrogateescape").split("\n"))
        self._passed_over = frozenset(files) - wanted
        self._files = [path for path in files if path in wanted]
        self._order = {path: number for number, path in enumerate(self._files)}

    async def _fetch_from(self, path: str) -> None:
        start = self._order[path]
        some = next(_portions(self._files[start : start + _FILES]))
        mark = new_mark()
        answer = await self._far.ask(far_scripts.HEADS, [str(_HEAD_BYTES), mark, *some])
        self._heads = dict(zip(some, answer.split(mark.encode()), strict=False))


def _portions(items: Sequence[_Item]) -> Iterator[list[_Item]]:
    """Give the items, which are paths or have one, in lists that are short enough for one command."""
    some: list[_Item] = []
    size = 0
    for item in items:
        length = len(item if isinstance(item, str) else item.path) * 4 + 8
        if some and size + length > _PATH_BYTES:
            yield some
            some, size = [], 0
        some.append(item)
        size += length
    if some:
        yield some
