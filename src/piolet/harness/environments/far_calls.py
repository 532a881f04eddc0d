"""One script on the far side of a `ShellEnvironment`: telling its output from the noise around it, and its end.

What a login shell prints before the script begins is dropped. The end is told by the far side itself: a connection
stays open as long as any child holds the output.
"""

from __future__ import annotations

import asyncio
import errno
import os
import re
from collections.abc import Awaitable, Callable, Iterator
from typing import Final, Literal, TypeAlias

from piolet.base.abort import AbortSignal
from piolet.harness.environments.base import ExitStatus, OnOutput
from piolet.harness.environments.far_shell import FarShell, StreamName
from piolet.harness.environments.processes import QUIET_SECONDS

SignalName: TypeAlias = Literal["TERM", "KILL"]
#: How long an abort waits to learn which group has to be killed, and a kill to learn the exit code.
_START_SECONDS: Final = 1.0
_NUMBERS: Final = (
    errno.ENOENT,
    errno.ENOTDIR,
    errno.EISDIR,
    errno.EACCES,
    errno.EPERM,
    errno.ELOOP,
    errno.EEXIST,
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EROFS,
    errno.ENAMETOOLONG,
    errno.ETXTBSY,
    errno.EBUSY,
    errno.EIO,
)
_REASONS: Final = {
    **{os.strerror(number).lower(): number for number in _NUMBERS},
    "no such file": errno.ENOENT,
    "directory nonexistent": errno.ENOENT,
    "symbolic link loop": errno.ELOOP,
}


def new_mark() -> str:
    """Return a text that no output contains. It begins with a character that output seldom ends in."""
    return "\x1e" + os.urandom(12).hex()


def file_error(text: bytes | bytearray, path: str) -> OSError:
    """Return what the far side's tools said of `path` in the last line of `text`, as the system here would say it."""
    line = text.decode(errors="replace").strip().rpartition("\n")[2]
    reason = line.rpartition(": ")[2]
    for words, number in _REASONS.items():
        if reason.lower().endswith(words):
            return OSError(number, os.strerror(number), path)
    number = errno.EINVAL if reason.startswith("not a regular file") else errno.EIO
    return OSError(number, reason or os.strerror(number), path)


class MarkedStream:
    """Splits a stream at notes: a mark, a word, LF. Everything before the first one is noise."""

    def __init__(self, mark: str) -> None:
        self.noise = bytearray()
        self._mark = mark.encode()
        self._note = re.compile(re.escape(self._mark) + rb"([a-z0-9]*)\n")
        self._open_note = re.compile(re.escape(self._mark) + rb"[a-z0-9]*")
        self._held = b""  # what may become a note
        self._started = False

    def feed(self, data: bytes) -> Iterator[tuple[bytes, str | None]]:
        """Give what `data` completes: pieces of output, each with the note behind it, if there is one."""
        data = self._held + data
        position = 0
        for note in self._note.finditer(data):
            yield self._output(data[position : note.start()]), note[1].decode()
            self._started = True
            position = note.end()
        start = data.rfind(self._mark[:1], position)
        end = start if start >= 0 and self._may_become_note(data[start:]) else len(data)
        self._held = data[end:]
        if position < end:
            yield self._output(data[position:end]), None

    def rest(self) -> bytes:
        """Return what was held back, at the end of the stream."""
        held, self._held = self._held, b""
        return self._output(held)

    def _output(self, data: bytes) -> bytes:
        if self._started:
            return data
        self.noise += data
        return b""

    def _may_become_note(self, tail: bytes) -> bool:
        return self._mark.startswith(tail) or self._open_note.fullmatch(tail) is not None


class FarCall:
    """Follows one script that `shell` was given with `mark`. The reader of its output sets the pace."""

    def __init__(self, shell: FarShell, mark: str, on_output: OnOutput) -> None:
        self.begun: str | None = None  # what the far side notes at the start: nothing, the group, or what is missing
        self.code: int | None = None
        self.seconds = 0.0
        self.last_output = 0.0
        self.mark = mark
        self._shell = shell
        self._on_output = on_output
        self._streams: dict[StreamName, MarkedStream] = {"stdout": MarkedStream(mark), "stderr": MarkedStream(mark)}
        self._notes: dict[StreamName, int] = {"stdout": 0, "stderr": 0}
        self._loop = asyncio.get_running_loop()
        self.started = self._loop.time()

    @property
    def is_over(self) -> bool:
        """Whether script and shell are done with both streams."""
        return min(self._notes.values()) > 1

    @property
    def group(self) -> int | None:
        """The process group, once it is known."""
        return int(self.begun) if self.begun is not None and self.begun.isdecimal() else None

    @property
    def noise(self) -> str:
        """What came instead of a start."""
        return b"\n".join(stream.noise for stream in self._streams.values()).decode(errors="replace")

    async def step(self, until: float | None = None) -> bool:
        """Take what comes next, or nothing if the time comes or the shell is woken; return whether something came."""
        piece = await self._shell.output(until)
        if piece is not None:
            name, data = piece
            for output, note in self._streams[name].feed(data):
                await self._pass(output, name)
                if note is not None:
                    self._heard(note, name)
        elif self._shell.ended:
            for name, stream in self._streams.items():
                await self._pass(stream.rest(), name)
        return piece is not None

    async def _pass(self, output: bytes, name: StreamName) -> None:
        if output:
            await self._on_output(output, name)
            self.last_output = self._loop.time()

    def _heard(self, note: str, name: StreamName) -> None:
        self._notes[name] += 1
        if name == "stderr":
            return
        now = self._loop.time()
        if self.begun is None:
            self.begun, self.started = note, now
        elif self.code is None:
            self.code, self.seconds, self.last_output = int(note), now - self.started, now


async def follow_program(
    call: FarCall,
    shell: FarShell,
    send: Callable[[SignalName, int], Awaitable[None]],
    timeout: float | None,
    signal: AbortSignal | None,
    grace: float,
) -> ExitStatus | None:
    """Return how a program ended or was stopped, None if the connection broke or the program never began.

    `send` sends a signal to a process group. The rest is as in `Environment.run`.
    """
    loop = asyncio.get_running_loop()
    aborted_at: float | None = None
    while not shell.ended:
        now = loop.time()
        if aborted_at is None and signal is not None and signal.aborted:
            aborted_at = now
        timed_out = timeout is not None and call.group is not None and now >= call.started + timeout
        is_started = call.begun is not None or (aborted_at is not None and now >= aborted_at + _START_SECONDS)
        if timed_out or (aborted_at is not None and is_started):
            aborted = aborted_at is not None
            left_running = call.code is not None
            if call.group is not None:
                await _stop(call, shell, send, call.group, grace)
            if left_running:
                return ExitStatus(call.code, not aborted, aborted, left_running, call.seconds)
            code = call.code if grace else None
            return ExitStatus(code, not aborted, aborted, seconds=now - call.started)
        if call.code is not None and now >= call.last_output + QUIET_SECONDS:
            break
        times = [call.started + timeout] if timeout is not None and call.group is not None else []
        times += [aborted_at + _START_SECONDS] if aborted_at is not None else []
        times += [call.last_output + QUIET_SECONDS] if call.code is not None else []
        await call.step(min(times, default=None))
    return None if call.code is None else ExitStatus(call.code, seconds=call.seconds)


async def _stop(
    call: FarCall, shell: FarShell, send: Callable[[SignalName, int], Awaitable[None]], group: int, grace: float
) -> None:
    """Kill a process group; with `grace` it is asked to end first, and its exit code is waited for."""
    if grace:
        await send("TERM", group)
        await _take_until_exit(call, shell, grace)
    await send("KILL", group)
    if grace:
        await _take_until_exit(call, shell, _START_SECONDS)


async def _take_until_exit(call: FarCall, shell: FarShell, seconds: float) -> None:
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    while call.code is None and not shell.ended and loop.time() < end:
        await call.step(end)
