"""Files in memory as an environment: a tree with modes and symbolic links, without processes.

For embedders whose agents work on documents that are nobody's disk files, and for tests.
"""

from __future__ import annotations

import errno
import os
import posixpath
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NoReturn, TypeAlias

from msgspec import Struct, field

from piolet.base.abort import AbortSignal
from piolet.harness.environments import search
from piolet.harness.environments.base import (
    DirectoryEntry,
    ExitStatus,
    FileInfo,
    FileKind,
    FindQuery,
    FindResult,
    GrepQuery,
    GrepResult,
    OnOutput,
    ShellNotFound,
    Snapshot,
)

_MAX_LINKS: Final = 40


class _File(Struct):
    data: bytes
    mode: int = 0o644
    mtime_ns: int = field(default_factory=time.time_ns)


class _Folder(Struct):
    children: dict[str, _Node] = field(default_factory=dict)
    mode: int = 0o755
    mtime_ns: int = field(default_factory=time.time_ns)


class _Link(Struct):
    target: str
    mode: int = 0o777
    mtime_ns: int = field(default_factory=time.time_ns)


_Node: TypeAlias = _File | _Folder | _Link


class MemoryEnvironment:
    """A virtual file tree. Modes are kept and reported, but stop nobody. Paths given at the start are below `cwd`."""

    kind = "memory"

    def __init__(
        self, files: Mapping[str, bytes | str] | None = None, *, cwd: str = "/work", home: str = "/home"
    ) -> None:
        self.cwd = posixpath.normpath(cwd)
        self._home = home
        self._root = _Folder()
        for folder in (self.cwd, home, "/tmp"):
            self.add_folder(folder)
        for path, content in (files or {}).items():
            self._put(self._resolve(path), content.encode() if isinstance(content, str) else content)

    def add_folder(self, path: str) -> None:
        """Make a folder with its parents; one that exists is left as it is."""
        self._folder_to_write(self._resolve(path))

    def add_link(self, path: str, target: str) -> None:
        """Make a symbolic link; `target` may be relative to it and need not exist."""
        folder, name = posixpath.split(self._resolve(path))
        self._folder_to_write(folder).children[name] = _Link(target)

    def set_mode(self, path: str, mode: int) -> None:
        self._existing(self._resolve(path)).mode = mode

    def files(self) -> dict[str, bytes]:
        """Return the content of every file by its absolute path."""
        return dict(_files_below("/", self._root))

    # ----------------------------------------------------------------------------------------------------- paths

    async def resolve(self, path: str) -> str:
        return self._resolve(path)

    async def join(self, base: str, *parts: str) -> str:
        return _absolute(posixpath.join(base, *parts))

    async def canonical(self, path: str) -> str:
        try:
            return self._follow(path)[0]
        except OSError:  # a loop of links, or a file among the parents
            return path

    # ----------------------------------------------------------------------------------------------------- files

    async def stat(self, path: str, *, follow: bool = True) -> FileInfo | None:
        try:
            node = self._follow(path, last=follow)[1]
        except NotADirectoryError:
            return None
        match node:
            case None:
                return None
            case _File():
                return FileInfo("file", len(node.data), node.mode, node.mtime_ns)
            case _Folder():
                return FileInfo("directory", 0, node.mode, node.mtime_ns)
            case _Link():
                return FileInfo("symlink", len(node.target), node.mode, node.mtime_ns)

    async def list_directory(self, path: str) -> list[DirectoryEntry]:
        node = self._existing(path)
        if not isinstance(node, _Folder):
            _fail(errno.ENOTDIR, path)
        return [self._entry(path, name, child) for name, child in node.children.items()]

    async def read_bytes(self, path: str, *, offset: int = 0, limit: int | None = None) -> bytes:
        node = self._existing(path)
        if not isinstance(node, _File):
            _fail(errno.EISDIR, path)
        return node.data[offset:] if limit is None else node.data[offset : offset + limit]

    async def write_bytes(self, path: str, data: bytes) -> None:
        self._put(path, data)

    async def append_bytes(self, path: str, data: bytes) -> None:
        node = self._follow(path)[1]
        self._put(path, (node.data if isinstance(node, _File) else b"") + data)

    async def remove(self, path: str) -> None:
        folder, name = posixpath.split(path)
        parent = self._existing(folder)
        if not isinstance(parent, _Folder) or name not in parent.children:
            _fail(errno.ENOENT, path)
        if isinstance(parent.children[name], _Folder):
            _fail(errno.EISDIR, path)
        del parent.children[name]

    async def temp_file(self, prefix: str, suffix: str) -> str:
        path = f"/tmp/{prefix}{os.urandom(8).hex()}{suffix}"
        self._put(path, b"")
        self.set_mode(path, 0o600)
        return path

    async def snapshot(self, paths: Sequence[str], *, contents: bool = True) -> Snapshot:
        found = {path: node for path in paths if isinstance(node := self._node(path), _File)}
        return Snapshot(
            {path: node.data for path, node in found.items()} if contents else {},
            {path: (node.mtime_ns, len(node.data)) for path, node in found.items()},
        )

    # ---------------------------------------------------------------------------------------- search, processes

    async def grep(self, query: GrepQuery, signal: AbortSignal | None = None) -> GrepResult:
        return await search.grep(self, query, signal)

    async def find(self, query: FindQuery, signal: AbortSignal | None = None) -> FindResult:
        return await search.find(self, query, signal)

    async def run(
        self,
        argv: Sequence[str],
        *,
        cwd: str | None = None,
        env: Mapping[str, str | None] | None = None,
        stdin: bytes | None = None,
        timeout: float | None = None,
        signal: AbortSignal | None = None,
        on_output: OnOutput | None = None,
        grace: float = 0,
    ) -> ExitStatus:
        raise OSError(errno.ENOSYS, "files in memory have no programs to run", argv[0])

    async def shell(self, path: str | None = None) -> list[str]:
        raise ShellNotFound("There is no shell here: the files are in memory only.")

    async def close(self) -> None:
        """Nothing to release."""

    # ------------------------------------------------------------------------------------------------------ tree

    def _resolve(self, path: str) -> str:
        if path == "~" or path.startswith("~/"):
            path = self._home + path[1:]
        return _absolute(posixpath.join(self.cwd, path))

    def _follow(self, path: str, *, last: bool = True) -> tuple[str, _Node | None]:
        """Return where `path` leads with links followed (the last part only with `last`), and what is there."""
        waiting, real, links = path.split("/")[::-1], ["/"], 0
        nodes: list[_Node] = [self._root]
        while waiting:
            part = waiting.pop()
            if part in ("", "."):
                continue
            if part == "..":
                if len(nodes) > 1:
                    real.pop()
                    nodes.pop()
                continue
            folder = nodes[-1]
            if not isinstance(folder, _Folder):
                _fail(errno.ENOTDIR, path)
            node = folder.children.get(part)
            if node is None:
                return posixpath.join(*real, part, *(p for p in waiting[::-1] if p)), None
            if isinstance(node, _Link) and (last or any(waiting)):
                links += 1
                if links > _MAX_LINKS:
                    _fail(errno.ELOOP, path)
                if node.target.startswith("/"):
                    real, nodes = ["/"], [self._root]
                waiting += node.target.split("/")[::-1]
                continue
            real.append(part)
            nodes.append(node)
        return posixpath.join(*real), nodes[-1]

    def _node(self, path: str) -> _Node | None:
        try:
            return self._follow(path)[1]
        except OSError:
            return None

    def _existing(self, path: str) -> _Node:
        node = self._follow(path)[1]
        if node is None:
            _fail(errno.ENOENT, path)
        return node

    def _put(self, path: str, data: bytes) -> None:
        real, node = self._follow(path)
        match node:
            case _File():
                node.data, node.mtime_ns = data, time.time_ns()
            case None:
                folder, name = posixpath.split(real)
                self._folder_to_write(folder).children[name] = _File(data)
            case _:
                _fail(errno.EISDIR, path)

    def _folder_to_write(self, path: str) -> _Folder:
        folder: _Node = self._root
        for part in self._follow(path)[0].split("/"):
            if part:
                folder = self._child_folder(folder, part, path)
        assert isinstance(folder, _Folder)
        return folder

    def _child_folder(self, folder: _Node, name: str, path: str) -> _Folder:
        if not isinstance(folder, _Folder):
            _fail(errno.ENOTDIR, path)
        child = folder.children.setdefault(name, _Folder())
        if not isinstance(child, _Folder):
            _fail(errno.EEXIST, path)
        return child

    def _entry(self, folder: str, name: str, node: _Node) -> DirectoryEntry:
        if isinstance(node, _File):
            return DirectoryEntry(name, "file")
        if isinstance(node, _Folder):
            return DirectoryEntry(name, "directory")
        target = self._node(posixpath.join(folder, name))
        kinds: dict[type[_Node], FileKind] = {_File: "file", _Folder: "directory"}
        return DirectoryEntry(name, "symlink", kinds.get(type(target)) if target is not None else None)


def _absolute(path: str) -> str:
    return "/" + posixpath.normpath(path).lstrip("/")


def _files_below(path: str, folder: _Folder) -> Iterator[tuple[str, bytes]]:
    for name, node in folder.children.items():
        if isinstance(node, _File):
            yield posixpath.join(path, name), node.data
        elif isinstance(node, _Folder):
            yield from _files_below(posixpath.join(path, name), node)


def _fail(number: int, path: str) -> NoReturn:
    raise OSError(number, os.strerror(number), path)
