"""This machine as an environment: its files, its processes."""

from __future__ import annotations

import asyncio
import functools
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, ParamSpec, TypeVar

from piolet.base.abort import AbortSignal
from piolet.harness.environments import disk
from piolet.harness.environments.base import (
    DirectoryEntry,
    ExitStatus,
    FileInfo,
    FindQuery,
    FindResult,
    GrepQuery,
    GrepResult,
    OnOutput,
    ShellNotFound,
    Snapshot,
)

P = ParamSpec("P")
T = TypeVar("T")

#: Reads of at most so many bytes are done one after another, in the order in which they were asked for.
_SMALL_READ: Final = 4 * 1024 * 1024

#: What every child process is told about its parent.
CHILD_VARIABLES: Final = {"PI_CODING_AGENT": "true", "AI_AGENT": "piolet"}


class LocalEnvironment:
    """Files and processes of this machine. File work runs in the event loop's thread pool.

    `path_folders` stand in front of the ``PATH`` of child processes; `env` replaces the variables of this process.
    `use_ripgrep`: search contents with ripgrep where it is installed.
    """

    kind = "local"

    def __init__(
        self,
        cwd: str | os.PathLike[str],
        *,
        home: str | None = None,
        path_folders: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
        use_ripgrep: bool = True,
    ) -> None:
        self.cwd = os.path.abspath(cwd)
        self._home = home
        self._path_folders = tuple(path_folders)
        self._env = env
        self._use_ripgrep = use_ripgrep

    # ----------------------------------------------------------------------------------------------------- paths

    async def resolve(self, path: str) -> str:
        return self._resolve(path)

    async def join(self, base: str, *parts: str) -> str:
        return _absolute(os.path.join(base, *parts))

    async def canonical(self, path: str) -> str:
        return await _in_turn(disk.canonical, path)

    # ----------------------------------------------------------------------------------------------------- files

    async def stat(self, path: str, *, follow: bool = True) -> FileInfo | None:
        return await _in_turn(disk.stat, path, follow)

    async def list_directory(self, path: str) -> list[DirectoryEntry]:
        return await asyncio.to_thread(disk.list_directory, path)

    async def read_bytes(self, path: str, *, offset: int = 0, limit: int | None = None) -> bytes:
        if limit is not None and limit <= _SMALL_READ:
            return await _in_turn(disk.read, path, offset, limit)
        return await asyncio.to_thread(disk.read, path, offset, limit)

    async def write_bytes(self, path: str, data: bytes) -> None:
        await asyncio.to_thread(disk.write, path, data)

    async def append_bytes(self, path: str, data: bytes) -> None:
        await asyncio.to_thread(disk.append, path, data)

    async def remove(self, path: str) -> None:
        await asyncio.to_thread(os.unlink, path)

    async def temp_file(self, prefix: str, suffix: str) -> str:
        path = os.path.join(tempfile.gettempdir(), f"{prefix}{os.urandom(8).hex()}{suffix}")
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
        return path

    async def snapshot(self, paths: Sequence[str], *, contents: bool = True) -> Snapshot:
        return await asyncio.to_thread(disk.snapshot, paths, contents)

    # ---------------------------------------------------------------------------------------------------- search

    async def grep(self, query: GrepQuery, signal: AbortSignal | None = None) -> GrepResult:
        """Search with ripgrep if it is on the PATH or beside this interpreter, else in Python with the same result."""
        program = self._find_ripgrep() if self._use_ripgrep else None
        if program is not None:
            from piolet.harness.environments.ripgrep import grep_with_ripgrep

            return await grep_with_ripgrep(self, program, query, signal)
        from piolet.harness.environments import search

        return await asyncio.to_thread(_finish, search.grep(_Files(), query, signal))

    async def find(self, query: FindQuery, signal: AbortSignal | None = None) -> FindResult:
        from piolet.harness.environments import search

        return await asyncio.to_thread(_finish, search.find(_Files(), query, signal))

    # ------------------------------------------------------------------------------------------------- processes

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
        from piolet.harness.environments.processes import run_process

        variables = self._child_variables()
        for name, value in (env or {}).items():
            if value is None:
                variables.pop(name, None)
            else:
                variables[name] = value
        return await run_process(
            argv,
            cwd=self.cwd if cwd is None else cwd,
            env=variables,
            stdin=stdin,
            timeout=timeout,
            signal=signal,
            on_output=on_output,
            grace=grace,
        )

    async def shell(self, path: str | None = None) -> list[str]:
        return [self._find_shell(path), "-c"]

    async def close(self) -> None:
        """Nothing stays open between calls."""

    def _resolve(self, path: str) -> str:
        if path == "~" or path.startswith("~/"):
            path = (self._home or os.path.expanduser("~")) + path[1:]
        return _absolute(os.path.join(self.cwd, path))

    def _find_shell(self, path: str | None) -> str:
        if path is not None:
            chosen = self._resolve(path)
            if not os.path.exists(chosen):
                raise ShellNotFound(f"Custom shell path not found: {path}")
            return chosen
        search = self._child_variables().get("PATH")
        usual = "/bin/bash" if os.path.exists("/bin/bash") else None
        found = usual or shutil.which("bash", path=search) or shutil.which("sh", path=search)
        if found is None:
            raise ShellNotFound("There is neither bash nor sh on the PATH")
        return found

    def _find_ripgrep(self) -> str | None:
        path = self._child_variables().get("PATH", "")
        return shutil.which("rg", path=os.pathsep.join([path, os.path.dirname(sys.executable)]))

    def _child_variables(self) -> dict[str, str]:
        variables = dict(os.environ if self._env is None else self._env)
        folders = [*self._path_folders, *filter(None, [variables.get("PATH")])]
        if folders:
            variables["PATH"] = os.pathsep.join(folders)
        return variables | CHILD_VARIABLES


_worker: ThreadPoolExecutor | None = None


async def _in_turn(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Do a short piece of work on files, off the event loop, all such pieces of the process in their order.

    So calls that begin together end in the order in which they began, as far as they do the same.
    """
    global _worker
    if _worker is None:
        _worker = ThreadPoolExecutor(1, "piolet-files")
    return await asyncio.get_running_loop().run_in_executor(_worker, functools.partial(work, *args, **kwargs))


class _Files:
    """The files of this machine for a search in a worker thread: coroutines that never wait."""

    async def canonical(self, path: str) -> str:
        return disk.canonical(path)

    async def stat(self, path: str, *, follow: bool = True) -> FileInfo | None:
        return disk.stat(path, follow)

    async def list_directory(self, path: str) -> list[DirectoryEntry]:
        return disk.list_directory(path)

    async def read_bytes(self, path: str, *, offset: int = 0, limit: int | None = None) -> bytes:
        return disk.read(path, offset, limit)


def _finish(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that never waits to its end, without an event loop."""
    try:
        work.send(None)
    except StopIteration as result:
        value: T = result.value
        return value
    raise RuntimeError("the coroutine waited for something")


def _absolute(path: str) -> str:
    normal = os.path.normpath(path)
    return "/" + normal.lstrip("/")  # POSIX lets two leading slashes stand
