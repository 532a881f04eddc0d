"""The protocol of environments: where tools act.

Everything is async; paths are ``str`` and belong to the environment, which alone knows how to resolve them. Failures
are `OSError` with `errno` set, as the operating system words them.
"""

from __future__ import annotations

import errno
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Literal, Protocol, TypeAlias

from msgspec import Struct, field

from piolet.base.abort import AbortSignal

FileKind: TypeAlias = Literal["file", "directory", "symlink", "fifo", "socket", "device"]


class FileInfo(Struct, frozen=True):
    """`kind` is "symlink" only where links are not followed. `mode`: permission bits. `mtime_ns`: nanoseconds."""

    kind: FileKind
    size: int
    mode: int
    mtime_ns: int


class DirectoryEntry(Struct, frozen=True):
    """A name in a folder. `target` is what a symlink leads to; None if it dangles."""

    name: str
    kind: FileKind
    target: FileKind | None = None


class ExitStatus(Struct, frozen=True):
    """How a process ended.

    `code`: the exit code, 128 + N for a death by signal N, None when it was killed by us.
    `left_running`: the process ended, but something that it started kept its output open until the time-out.
    `seconds`: from the start to the end of the process.
    """

    code: int | None
    timed_out: bool = False
    aborted: bool = False
    left_running: bool = False
    seconds: float = 0.0


#: Receives output as it arrives: the bytes and the stream's name. Nothing more is read before it returns.
OnOutput: TypeAlias = Callable[[bytes, Literal["stdout", "stderr"]], Awaitable[None]]


class GrepQuery(Struct, frozen=True):
    """What to search. `path` is absolute. `context`: lines before and after. `limit`: lines that match."""

    pattern: str
    path: str
    glob: str | None = None
    ignore_case: bool = False
    literal: bool = False
    context: int = 0
    limit: int = 100


class GrepLine(Struct, frozen=True):
    """A line found: `path` relative to the searched folder, `number` from 1, `is_match` False for context."""

    path: str
    number: int
    text: str
    is_match: bool


class GrepResult(Struct, frozen=True):
    lines: Sequence[GrepLine]
    limit_reached: bool = False


class FindQuery(Struct, frozen=True):
    """`glob` is that of a `GrepQuery`: with ``!`` it names what is left out.

    `follow`: links to folders count as folders. No folder is looked into twice through links, so their loops end.
    """

    pattern: str
    path: str
    limit: int = 1000
    glob: str | None = None
    follow: bool = False


class FindResult(Struct, frozen=True):
    """Paths relative to the searched folder, sorted; folders end in ``/``."""

    paths: Sequence[str]
    limit_reached: bool = False


class ShellNotFound(LookupError):
    """There is no shell to run a command with."""


class Unreachable(ConnectionError):
    """Where the tools act cannot be reached, or has no shell; the text says where and why."""

    def __init__(self, text: str) -> None:
        super().__init__(errno.ECONNRESET, text)

    def __str__(self) -> str:
        return self.strerror or ""


class InvalidPattern(ValueError):
    """A search pattern that no engine here understands; the text says why."""


class Snapshot(Struct, frozen=True):
    """What one batched look at many files found: contents and stamps. A missing file is absent."""

    contents: Mapping[str, bytes] = field(default_factory=dict)
    stamps: Mapping[str, tuple[int, int]] = field(default_factory=dict)  # (mtime_ns, size)


class Environment(Protocol):
    """Where tools act. `cwd` is absolute; `kind` is a word for messages and the session ("local", "memory", …)."""

    @property
    def kind(self) -> str: ...
    @property
    def cwd(self) -> str: ...

    async def resolve(self, path: str) -> str:
        """Return `path` as an absolute normal form: relative to `cwd`, ``~`` expanded, ``.`` and ``..`` removed."""

    async def join(self, base: str, *parts: str) -> str: ...

    async def canonical(self, path: str) -> str:
        """Return the resolved path with links followed; what does not exist yet stays as it is."""

    async def stat(self, path: str, *, follow: bool = True) -> FileInfo | None:
        """Return what stands at `path`, None if nothing does."""

    async def list_directory(self, path: str) -> list[DirectoryEntry]: ...

    async def read_bytes(self, path: str, *, offset: int = 0, limit: int | None = None) -> bytes: ...

    async def write_bytes(self, path: str, data: bytes) -> None:
        """Replace the content of `path` in one step: readers see the old or the new. Keeps mode and links; missing
        parent folders are made."""

    async def remove(self, path: str) -> None: ...

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
        """Run a program in a process group of its own and wait for it, but not for children that it left behind.

        `env` is laid over the environment's own, None unsets; without `stdin` it is empty; `timeout` in seconds.
        Time-out and abort kill the whole group at once; with `grace` it is asked to end (SIGTERM) and has so many
        seconds first, and the status has its code. `on_output`: an async function of the bytes and "stdout" or
        "stderr". A missing program raises FileNotFoundError."""

    async def shell(self, path: str | None = None) -> Sequence[str]:
        """Return the argv in front of a shell command: for example ``["/bin/bash", "-c"]``.

        `path`: the shell that the user asks for, ``~`` allowed; `ShellNotFound` if it is missing."""

    async def temp_file(self, prefix: str, suffix: str) -> str:
        """Make an empty file, mode 0600, in the temp folder; return its path."""

    async def append_bytes(self, path: str, data: bytes) -> None: ...

    async def snapshot(self, paths: Sequence[str], *, contents: bool = True) -> Snapshot:
        """Look at many files at once (one command where the environment is remote)."""

    async def grep(self, query: GrepQuery, signal: AbortSignal | None = None) -> GrepResult: ...

    async def find(self, query: FindQuery, signal: AbortSignal | None = None) -> FindResult: ...

    async def close(self) -> None: ...
