"""Child processes of this machine: each in a session and process group of its own, read as it writes, killed whole.

The one module of this package that knows POSIX processes. A call never waits for the end of a pipe, which any
background child may hold: it watches the process itself, and after its exit only for a short quiet time.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal as signals
from collections.abc import Mapping, Sequence
from typing import IO, TYPE_CHECKING, Final, Literal

from piolet.base.abort import AbortSignal
from piolet.harness.environments.base import ExitStatus, OnOutput

if TYPE_CHECKING:
    import subprocess

#: Seconds without output after which a call ends, once the process has exited (tools specification, section 3).
QUIET_SECONDS: Final = 0.1
_CHUNK: Final = 65_536
_POLL_SECONDS: Final = 0.02
#: How long a killed process may take to go; only one that hangs in the kernel takes longer.
_KILL_SECONDS: Final = 1.0

#: The process groups that `kill_all_process_groups` kills, by the id of their leader.
live_groups: set[int] = set()


def kill_all_process_groups() -> None:
    """Send SIGKILL to the process group of every call that is still open. May be called from a signal handler."""
    for pid in tuple(live_groups):
        kill_group(pid)


async def run_process(
    argv: Sequence[str],
    *,
    cwd: str,
    env: Mapping[str, str],
    stdin: bytes | None = None,
    timeout: float | None = None,
    signal: AbortSignal | None = None,
    on_output: OnOutput | None = None,
    grace: float = 0,
) -> ExitStatus:
    """Run `argv` with exactly `env`; the contract is that of `Environment.run`."""
    call = _Call(_spawn(argv, cwd, env, stdin), on_output)
    live_groups.add(call.pid)
    withdraw = signal.on_abort(call.wake.set) if signal is not None else None
    try:
        return await call.run(timeout, signal, grace)
    finally:
        if withdraw is not None:
            withdraw()
        call.close()
        live_groups.discard(call.pid)


def _spawn(argv: Sequence[str], cwd: str, env: Mapping[str, str], stdin: bytes | None) -> subprocess.Popen[bytes]:
    import subprocess
    import tempfile

    with contextlib.ExitStack() as stack:
        source: int | IO[bytes] = subprocess.DEVNULL
        if stdin is not None:  # a file cannot block, whether the program reads it or not
            source = stack.enter_context(tempfile.TemporaryFile())
            source.write(stdin)
            source.seek(0)
        return subprocess.Popen(
            list(argv),
            cwd=cwd,
            env=dict(env),
            stdin=source,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )


class _Call:
    """One process from its start to the end of the call."""

    def __init__(self, process: subprocess.Popen[bytes], on_output: OnOutput | None) -> None:
        assert process.stdout is not None
        assert process.stderr is not None
        self.pid = process.pid
        self.wake = asyncio.Event()
        self._process = process
        self._on_output = on_output
        self._loop = asyncio.get_running_loop()
        self._streams: dict[int, tuple[IO[bytes], Literal["stdout", "stderr"]]] = {
            process.stdout.fileno(): (process.stdout, "stdout"),
            process.stderr.fileno(): (process.stderr, "stderr"),
        }
        self._readable: list[int] = []
        self._last_output = 0.0
        self._exit_watch = _ExitWatch(process, self.wake)
        for descriptor in self._streams:
            os.set_blocking(descriptor, False)
            self._loop.add_reader(descriptor, self._can_read, descriptor)

    async def run(self, timeout: float | None, signal: AbortSignal | None, grace: float) -> ExitStatus:
        started = self._loop.time()
        deadline = started + timeout if timeout is not None else None
        while True:
            self.wake.clear()
            await self._take_output()
            now = self._loop.time()
            exited = self._exit_watch.exited_at
            if exited is not None and self._is_over(exited, now):
                return ExitStatus(self._exit_watch.code, seconds=exited - started)
            aborted = signal is not None and signal.aborted
            if aborted or (deadline is not None and now >= deadline):
                if grace:
                    await self._end_group(signals.SIGTERM, grace)
                await self._end_group(signals.SIGKILL, _KILL_SECONDS)
                if exited is None:
                    code = self._exit_watch.code if grace else None
                    return ExitStatus(code, timed_out=not aborted, aborted=aborted, seconds=self._loop.time() - started)
                code, seconds = self._exit_watch.code, exited - started
                return ExitStatus(code, timed_out=not aborted, aborted=aborted, left_running=True, seconds=seconds)
            times = [deadline] if deadline is not None else []
            if exited is not None:
                times.append(max(exited, self._last_output) + QUIET_SECONDS)
            await self._sleep_until(min(times, default=None))

    def close(self) -> None:
        """Release everything; a process that still runs is killed (its call was cancelled)."""
        for descriptor, (stream, _) in self._streams.items():
            self._loop.remove_reader(descriptor)
            stream.close()
        self._streams.clear()
        if not self._exit_watch.poll():
            kill_group(self.pid)
        self._exit_watch.close()

    def _is_over(self, exited: float, now: float) -> bool:
        if self._readable:
            return False
        return not self._streams or now >= max(exited, self._last_output) + QUIET_SECONDS

    async def _end_group(self, number: signals.Signals, seconds: float) -> None:
        """Signal the group, give it `seconds` to go, and take what it still writes."""
        _signal_group(self.pid, number)
        end = self._loop.time() + seconds
        while self._exit_watch.exited_at is None and self._loop.time() < end:
            self.wake.clear()
            await self._sleep_until(end)
            await self._take_output()
        self._readable = list(self._streams)
        await self._take_output()

    def _can_read(self, descriptor: int) -> None:
        self._loop.remove_reader(descriptor)  # until it has been read: the caller sets the pace
        self._readable.append(descriptor)
        self.wake.set()

    async def _take_output(self) -> None:
        ready, self._readable = self._readable, []
        for descriptor in ready:
            stream, name = self._streams[descriptor]
            try:
                data = os.read(descriptor, _CHUNK)
            except BlockingIOError:
                data = None
            if data == b"":
                self._loop.remove_reader(descriptor)
                del self._streams[descriptor]
                stream.close()
                continue
            if data is not None:
                if self._on_output is not None:
                    await self._on_output(data, name)
                self._last_output = self._loop.time()
            self._loop.add_reader(descriptor, self._can_read, descriptor)

    async def _sleep_until(self, time: float | None) -> None:
        timer = self._loop.call_at(time, self.wake.set) if time is not None else None
        try:
            await self.wake.wait()
        finally:
            if timer is not None:
                timer.cancel()


class _ExitWatch:
    """Tells when a process has exited, without reaping it: its id stays its own until the group has been killed."""

    def __init__(self, process: subprocess.Popen[bytes], wake: asyncio.Event) -> None:
        self.exited_at: float | None = None
        self.code: int | None = None
        self._process = process
        self._wake = wake
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._pidfd: int | None = None
        try:
            self._pidfd = os.pidfd_open(process.pid)
        except (AttributeError, OSError):  # not Linux, or an old kernel
            self._poll_again()
        else:
            self._loop.add_reader(self._pidfd, self._exited)

    def poll(self) -> bool:
        """Return True if the process has exited, and note when and how."""
        if self.exited_at is None:
            code = self._peek()
            if code is not None:
                self.exited_at = self._loop.time()
                self.code = 128 - code if code < 0 else code
        return self.exited_at is not None

    def close(self) -> None:
        """Stop watching, and reap the process if it has exited."""
        if self._pidfd is not None:
            self._loop.remove_reader(self._pidfd)
            os.close(self._pidfd)
            self._pidfd = None
        if self._timer is not None:
            self._timer.cancel()
        if self.exited_at is None:
            reap_killed(self._process)
        else:
            self._process.wait()

    def _exited(self) -> None:
        if self.poll():
            if self._pidfd is not None:
                self._loop.remove_reader(self._pidfd)
            self._wake.set()

    def _poll_again(self) -> None:
        self._timer = None
        if self.poll():
            self._wake.set()
        else:
            self._timer = self._loop.call_later(_POLL_SECONDS, self._poll_again)

    def _peek(self) -> int | None:
        if not hasattr(os, "waitid"):
            return self._process.poll()
        state = os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if state is None:
            return None
        return state.si_status if state.si_code == os.CLD_EXITED else -state.si_status


def reap_killed(process: subprocess.Popen[bytes]) -> None:
    """Wait the moment that a killed process needs to go; give up on one that hangs."""
    import subprocess

    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(_KILL_SECONDS)


def kill_group(pid: int) -> None:
    """Send SIGKILL to a process group; one that is gone is no error."""
    _signal_group(pid, signals.SIGKILL)


def _signal_group(pid: int, number: signals.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)
