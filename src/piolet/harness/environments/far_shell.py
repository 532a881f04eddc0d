"""A shell on the far side of a `ShellEnvironment`, which takes one script after another over three pipes."""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
from collections.abc import Callable, Mapping, Sequence
from typing import IO, Final, Literal, TypeAlias

from piolet.harness.environments.processes import kill_group, live_groups, reap_killed

StreamName: TypeAlias = Literal["stdout", "stderr"]
_CHUNK: Final = 65_536
#: How often it is looked whether a shell that was not heard of may still begin.
_LOOK_SECONDS: Final = 0.5


class FarShell:
    """One such shell. Between calls it costs no task, no thread and no watcher of the event loop.

    `end` is called once, after the pipes are closed: it sees to it that the shell is gone, and returns an exit code if
    there is one. `may_begin` tells whether a shell that was not heard of yet may still begin.
    """

    def __init__(
        self,
        stdin: IO[bytes],
        stdout: IO[bytes],
        stderr: IO[bytes],
        end: Callable[[], int | None],
        may_begin: Callable[[], bool] = lambda: True,
    ) -> None:
        self._stdin: IO[bytes] | None = stdin
        self._streams: dict[StreamName, IO[bytes]] = {"stdout": stdout, "stderr": stderr}
        self._end: Callable[[], int | None] | None = end
        self._may_begin = may_begin
        self._code: int | None = None
        self._to_send = memoryview(b"")
        self._is_last = False
        self._heard = False
        self._ready: set[StreamName] = set()
        self._woken: asyncio.Event | None = None
        for stream in (stdin, stdout, stderr):
            os.set_blocking(stream.fileno(), False)

    @property
    def ended(self) -> bool:
        """Whether nothing more will come."""
        return not self._streams

    def exit_code(self) -> int | None:
        """Return how it ended; it is killed if it still runs."""
        self.kill()
        return self._code

    def send(self, data: bytes, *, is_last: bool) -> None:
        """Let `output` write `data` as the far side takes it; with `is_last` that is the end of its input."""
        self._to_send, self._is_last = memoryview(data), is_last

    async def output(self, until: float | None = None) -> tuple[StreamName, bytes] | None:
        """Return the next piece of output; None at the end, at the time `until` of the event loop, or when woken."""
        self._write()
        if not self._ready and not self.ended:
            await self._wait(until)
            self._write()
            if not (self._heard or self._ready or self._may_begin()):
                self._close_output()
        while self._ready:
            name = max(self._ready)
            self._ready.discard(name)
            try:
                data = os.read(self._streams[name].fileno(), _CHUNK)
            except BlockingIOError:
                continue
            self._heard = True
            self._write()
            if data:
                return name, data
            self._streams.pop(name).close()
        return None

    def wake(self) -> None:
        """Let an `output` that waits return."""
        if self._woken is not None:
            self._woken.set()

    def kill(self) -> None:
        """Make an end of it, and release everything."""
        self._close_input()
        self._close_output()
        self.wake()
        if self._end is not None:
            end, self._end = self._end, None
            self._code = end()

    def _write(self) -> None:
        if self._stdin is None:
            return
        try:
            while self._to_send:
                self._to_send = self._to_send[os.write(self._stdin.fileno(), self._to_send[:_CHUNK]) :]
        except BlockingIOError:
            return
        except OSError:  # it is gone; its output tells why
            self._to_send = memoryview(b"")
        if self._is_last and self._heard:  # not before: a named pipe must have been opened on the other side
            self._close_input()

    def _close_output(self) -> None:
        for stream in self._streams.values():
            stream.close()
        self._streams.clear()
        self._ready.clear()

    def _close_input(self) -> None:
        if self._stdin is not None:
            with contextlib.suppress(OSError):
                self._stdin.close()
            self._stdin = None

    async def _wait(self, until: float | None) -> None:
        loop = asyncio.get_running_loop()
        self._woken = asyncio.Event()
        readable = {name: stream.fileno() for name, stream in self._streams.items()}
        writable = self._stdin.fileno() if self._stdin is not None and self._to_send else None
        if not self._heard:
            until = min(until or math.inf, loop.time() + _LOOK_SECONDS)
        timer = loop.call_at(until, self.wake) if until is not None else None
        for name, descriptor in readable.items():
            loop.add_reader(descriptor, self._can_read, name)
        if writable is not None:
            loop.add_writer(writable, self.wake)
        try:
            await self._woken.wait()
        finally:
            for descriptor in readable.values():
                loop.remove_reader(descriptor)
            if writable is not None:
                loop.remove_writer(writable)
            if timer is not None:
                timer.cancel()

    def _can_read(self, name: StreamName) -> None:
        if name in self._streams:
            self._ready.add(name)
        self.wake()


def start_shell(argv: Sequence[str], variables: Mapping[str, str]) -> FarShell:
    """Return the shell that a local command leads to; it is killed with all its children. Raises FileNotFoundError."""
    import subprocess

    process = subprocess.Popen(
        list(argv),
        cwd="/",
        env=dict(variables),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        start_new_session=True,
    )
    live_groups.add(process.pid)
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None

    def end() -> int | None:
        if process.poll() is None:
            kill_group(process.pid)
        reap_killed(process)
        live_groups.discard(process.pid)
        return process.returncode

    return FarShell(process.stdin, process.stdout, process.stderr, end)


class FarShells:
    """The shells of one environment: those that wait for a script, and those that have one.

    `start` makes a shell, `surroundings` tells what it is started in; where that changes, a shell is of no more use.
    """

    def __init__(self, start: Callable[[], FarShell], surroundings: Callable[[], object]) -> None:
        self._start = start
        self._surroundings = surroundings
        self._waiting: list[tuple[FarShell, object]] = []
        self._busy: dict[FarShell, object] = {}

    def take(self) -> tuple[FarShell, bool]:
        """Return a shell for one script, and whether it is a new one."""
        now = self._surroundings()
        while self._waiting:
            shell, then = self._waiting.pop()
            if now == then:
                self._busy[shell] = now
                return shell, False
            shell.kill()
        shell = self._start()
        self._busy[shell] = now
        return shell, True

    def give_back(self, shell: FarShell) -> None:
        """Let a shell that is done with its script wait for another one."""
        self._waiting.append((shell, self._busy.pop(shell)))

    def end(self, shell: FarShell) -> None:
        """End a shell that takes no other script."""
        self._busy.pop(shell, None)
        shell.kill()

    def make_ready(self) -> None:
        """See to it that a shell is waiting: some need a second to start."""
        if not self._waiting:
            self._waiting.append((self._start(), self._surroundings()))

    def end_waiting(self) -> None:
        """End those that wait: they may have lost their connection."""
        for shell, _ in self._waiting:
            shell.kill()
        self._waiting.clear()

    def close(self) -> None:
        """End all shells."""
        self.end_waiting()
        for shell in self._busy:
            shell.kill()
        self._busy.clear()
