"""Any place with a POSIX shell as an environment: files and processes go through a prefix, say ``docker exec -i X``.

Each operation is one script. Nothing has to be installed on the far side but what every system with a shell has.
"""

from __future__ import annotations

import asyncio
import errno
import os
import posixpath
import stat as stat_bits
from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from piolet.base.abort import AbortSignal
from piolet.harness.environments import far_scripts
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
    Unreachable,
)
from piolet.harness.environments.far_calls import FarCall, SignalName, file_error, follow_program, new_mark
from piolet.harness.environments.far_shell import FarShell, FarShells, StreamName, start_shell
from piolet.harness.environments.local import CHILD_VARIABLES

_KINDS: Final[dict[str, FileKind]] = {
    "f": "file",
    "d": "directory",
    "l": "symlink",
    "p": "fifo",
    "s": "socket",
    "c": "device",
}
_ATTEMPTS: Final = (1, 2)
#: So many file operations go on at once: servers limit what one connection carries.
_MOST_AT_ONCE: Final = 4
#: How long the sending of a signal may take.
_SIGNAL_SECONDS: Final = 2.0


class FarSide(Struct, frozen=True):
    """What the first look at the far side tells. `stat`: "gnu" or "bsd". `ripgrep`, `missing`: empty for none."""

    cwd: str
    home: str
    temp: str
    shell: str
    ripgrep: str
    stat: str
    missing: str


class ShellEnvironment:
    """The files and processes that `prefix` leads to: ``[*prefix, "sh", "-c", …]`` is a shell there.

    `cwd` is a folder there, by default the one where that shell begins; it is known when `connect` has returned, and
    everything else needs that too. The prefix must pass on standard input and output, and the exit code.
    """

    kind = "shell"

    def __init__(self, prefix: Sequence[str], *, cwd: str | None = None) -> None:
        self.prefix = tuple(prefix)
        self.cwd = cwd or ""
        self._far: FarSide | None = None
        self._shells = FarShells(self._start, self._surroundings)
        self._turns = asyncio.Semaphore(_MOST_AT_ONCE)

    async def connect(self) -> None:
        """Look at the far side. Raises `Unreachable`, which says why there is no shell or no such folder."""
        if self._far is None:
            try:
                answer = await self.ask(far_scripts.LOOK, [self.cwd])
            except Unreachable:
                raise
            except OSError:
                raise Unreachable(f"{self.name} has no folder {self.cwd} that could be worked in") from None
            far = FarSide(*(_text(field) for field in answer.split(b"\0")[:-1]))
            if far.missing:
                raise Unreachable(f"{self.name} lacks programs that tools need:{far.missing}")
            self._far, self.cwd = far, far.cwd

    @property
    def name(self) -> str:
        """What messages call the far side."""
        return self.prefix[0]

    @property
    def far(self) -> FarSide:
        assert self._far is not None, "connect() comes first"
        return self._far

    # ----------------------------------------------------------------------------------------------------- paths

    async def resolve(self, path: str) -> str:
        return self._resolve(path)

    async def join(self, base: str, *parts: str) -> str:
        return _absolute(posixpath.join(base, *parts))

    async def canonical(self, path: str) -> str:
        return _text(await self.ask(far_scripts.CANONICAL, [path]))

    def _resolve(self, path: str) -> str:
        if path == "~" or path.startswith("~/"):
            path = self.far.home + path[1:]
        return _absolute(posixpath.join(self.cwd, path))

    # ----------------------------------------------------------------------------------------------------- files

    async def stat(self, path: str, *, follow: bool = True) -> FileInfo | None:
        try:
            answer = await self.ask(far_scripts.stat_script(self.far.stat, follow=follow), [path])
        except (FileNotFoundError, NotADirectoryError):
            return None
        mode, size, time = answer.split()
        bits = int(mode, 16)
        return FileInfo(_kind(bits), int(size), stat_bits.S_IMODE(bits), _nanoseconds(time))

    async def list_directory(self, path: str) -> list[DirectoryEntry]:
        return [directory_entry(record) for record in (await self.ask(far_scripts.LIST, [path])).split(b"\0")[:-1]]

    async def read_bytes(self, path: str, *, offset: int = 0, limit: int | None = None) -> bytes:
        return await self.ask(far_scripts.READ, [path, str(offset + 1), "" if limit is None else str(limit)])

    async def write_bytes(self, path: str, data: bytes) -> None:
        fresh = f".piolet-{os.urandom(8).hex()}.tmp"
        await self.ask(far_scripts.write_script(self.far.stat), [path, str(len(data)), fresh], data)

    async def append_bytes(self, path: str, data: bytes) -> None:
        await self.ask(far_scripts.APPEND, [path], data, may_repeat=False)

    async def remove(self, path: str) -> None:
        await self.ask(far_scripts.REMOVE, [path], may_repeat=False)

    async def temp_file(self, prefix: str, suffix: str) -> str:
        path = posixpath.join(self.far.temp, f"{prefix}{os.urandom(8).hex()}{suffix}")
        return _text(await self.ask(far_scripts.TEMP, [path], may_repeat=False))

    async def snapshot(self, paths: Sequence[str], *, contents: bool = True) -> Snapshot:
        mark = new_mark()
        script = far_scripts.snapshot_script(self.far.stat, contents=contents)
        answer = await self.ask(script, [mark, *paths])
        texts: dict[str, bytes] = {}
        stamps: dict[str, tuple[int, int]] = {}
        for record in answer.split(mark.encode())[:-1]:
            head, _, content = record.partition(b"\n")
            number, _, size, time = head.split()
            path = paths[int(number)]
            stamps[path] = (_nanoseconds(time), int(size))
            if contents:
                texts[path] = content
        return Snapshot(texts, stamps)

    # ---------------------------------------------------------------------------------------------------- search

    async def grep(self, query: GrepQuery, signal: AbortSignal | None = None) -> GrepResult:
        """Search with the ripgrep of the far side if there is one, else here, in what is fetched from there."""
        if self.far.ripgrep:
            from piolet.harness.environments.ripgrep import grep_with_ripgrep

            return await grep_with_ripgrep(self, self.far.ripgrep, query, signal)
        from piolet.harness.environments import far_tree

        return await far_tree.grep(self, query, signal)

    async def find(self, query: FindQuery, signal: AbortSignal | None = None) -> FindResult:
        from piolet.harness.environments import far_tree

        return await far_tree.find(self, query, signal)

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
        if signal is not None and signal.aborted:
            return ExitStatus(None, aborted=True)
        folder = self.cwd if cwd is None else cwd
        variables = {**CHILD_VARIABLES, **(env or {})}
        script = far_scripts.program_script(folder, variables, argv, has_stdin=stdin is not None)

        async def ignore(data: bytes, stream: StreamName) -> None:
            pass

        for attempt in _ATTEMPTS:
            shell, is_fresh = self._shells.take()
            call = FarCall(shell, new_mark(), on_output or ignore)
            shell.send(far_scripts.line_of(call.mark, script, is_last=True) + (stdin or b""), is_last=True)
            withdraw = signal.on_abort(shell.wake) if signal is not None else None
            try:
                status = await follow_program(call, shell, self._signal, timeout, signal, grace)
                if status is None and call.begun is not None:
                    raise Unreachable(f"The connection to {self.name} was lost while the command ran")
                if status is None and (attempt == _ATTEMPTS[-1] or not self._may_retry(is_fresh)):
                    raise Unreachable(self._explain(shell.exit_code(), call.noise))
            except asyncio.CancelledError:
                if call.group is not None and call.code is None:
                    await asyncio.shield(self._signal("KILL", call.group))
                raise
            finally:
                if withdraw is not None:
                    withdraw()
                self._shells.end(shell)
            if call.begun in ("cwd", "program"):
                path = folder if call.begun == "cwd" else argv[0]
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
            if status is not None:
                self._shells.make_ready()
                return status
            self._shells.end_waiting()
        raise AssertionError("the last attempt returns or raises")

    async def shell(self, path: str | None = None) -> list[str]:
        if path is not None:
            chosen = self._resolve(path)
            if await self.stat(chosen) is None:
                raise ShellNotFound(f"Custom shell path not found: {path}")
            return [chosen, "-c"]
        return [self.far.shell, "-c"]

    async def close(self) -> None:
        """End the shells on the far side."""
        self._shells.close()

    # ------------------------------------------------------------------------------- for kinds of this environment

    def _argv(self) -> Sequence[str]:
        """Return the local command that runs `LAUNCHER` on the far side."""
        return [*self.prefix, "sh", "-c", far_scripts.LAUNCHER]

    def _variables(self) -> Mapping[str, str]:
        """Return the variables of that local command."""
        return os.environ

    def _surroundings(self) -> object:
        """Return something that changes when a shell that waits has become useless."""
        return None

    def _explain(self, code: int | None, text: str) -> str:
        """Say why there was no shell; `text` is what the local command printed before it ended with `code`."""
        return f"There is no POSIX shell (sh) to be had by {self.name}: {last_lines(text) or f'exit code {code}'}"

    async def _signal(self, name: SignalName, group: int) -> None:
        """Send a signal to a process group on the far side."""
        try:
            async with asyncio.timeout(_SIGNAL_SECONDS):
                await self._ask(far_scripts.SIGNAL, [name, str(group)])
        except OSError:  # TimeoutError is one: it is gone, or out of reach
            pass

    # ---------------------------------------------------------------------------------------------------- asking

    async def ask(
        self, body: str, arguments: Sequence[str], stdin: bytes | None = None, *, may_repeat: bool = True
    ) -> bytes:
        """Run a script of `far_scripts` and return its output; its failure is an OSError about its first argument.

        `may_repeat`: whether it may be run again when the connection breaks in the middle. Raises `Unreachable`.
        """
        async with self._turns:
            return await self._ask(body, arguments, stdin, may_repeat=may_repeat)

    async def _ask(
        self, body: str, arguments: Sequence[str], stdin: bytes | None = None, *, may_repeat: bool = True
    ) -> bytes:
        script = far_scripts.file_script(body, arguments)
        is_last = stdin is not None
        for attempt in _ATTEMPTS:
            outputs: dict[StreamName, bytearray] = {"stdout": bytearray(), "stderr": bytearray()}

            async def take(data: bytes, stream: StreamName, outputs: Any = outputs) -> None:
                outputs[stream] += data

            shell, is_fresh = self._shells.take()
            call = FarCall(shell, new_mark(), take)
            shell.send(far_scripts.line_of(call.mark, script, is_last=is_last) + (stdin or b""), is_last=is_last)
            code = None
            try:
                while not (call.is_over or shell.ended):
                    await call.step()
            finally:
                if call.is_over and not is_last:
                    self._shells.give_back(shell)
                else:
                    code = shell.exit_code()
                    self._shells.end(shell)
            if call.code == 0:
                return bytes(outputs["stdout"])
            if call.code is not None:
                raise file_error(outputs["stderr"], arguments[0])
            may_retry = self._may_retry(is_fresh) if call.begun is None else may_repeat
            if attempt == _ATTEMPTS[-1] or not may_retry:
                raise Unreachable(self._explain(code, call.noise))
            self._shells.end_waiting()
        raise AssertionError("the last attempt returns or raises")

    def _may_retry(self, is_fresh: bool) -> bool:
        """Whether a script that did not begin may be given to another shell: not at the first shell of all."""
        return not is_fresh or self._far is not None

    def _start(self) -> FarShell:
        argv = self._argv()
        try:
            return start_shell(argv, self._variables())
        except FileNotFoundError:
            raise Unreachable(f"{argv[0]} is not installed here, and {self.name} needs it") from None


def directory_entry(record: bytes) -> DirectoryEntry:
    """Return the entry that a record tells: a letter for its kind, one for what a link leads to, its name."""
    text = _text(record)
    return DirectoryEntry(text[2:], _KINDS[text[0]], _KINDS.get(text[1]))


def last_lines(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return " / ".join(lines[-3:])


def _kind(mode: int) -> FileKind:
    kinds: dict[int, FileKind] = {
        stat_bits.S_IFREG: "file",
        stat_bits.S_IFDIR: "directory",
        stat_bits.S_IFLNK: "symlink",
        stat_bits.S_IFIFO: "fifo",
        stat_bits.S_IFSOCK: "socket",
    }
    return kinds.get(stat_bits.S_IFMT(mode), "device")


def _nanoseconds(time: bytes) -> int:
    seconds, _, fraction = time.decode().partition(".")
    return int(seconds) * 1_000_000_000 + int(fraction[:9].ljust(9, "0"))


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _absolute(path: str) -> str:
    return "/" + posixpath.normpath(path).lstrip("/")
