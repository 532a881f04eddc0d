"""One shell command from start to end: its output as plain text, the tail of it at hand, the whole of it in a file.

Serves the bash tool and the commands that the user runs. Source: the tools specification, section 3.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Final, Literal

from msgspec import Struct

from piolet.base.abort import AbortSignal
from piolet.harness.environments.base import Environment, ExitStatus, ShellNotFound, Unreachable
from piolet.harness.tools.errors import ToolError, describe
from piolet.harness.tools.paths import well_formed
from piolet.harness.tools.terminal_text import TerminalText
from piolet.harness.tools.truncate import TailBuffer, Truncation

#: Seconds between two reports of progress.
UPDATE_SECONDS: Final = 0.1
_WHOLE_OUTPUT_BYTES: Final = 1024 * 1024
_EDGE_BYTES: Final = 512 * 1024
_FLUSH_BYTES: Final = 256 * 1024
_FLUSH_SECONDS: Final = 1.0


class ShellProgress(Struct, frozen=True):
    """The tail of the output so far. `full_output_path`: the file with all of it, once a limit has been passed; None
    also where it could not be written."""

    truncation: Truncation
    full_output_path: str | None = None
    last_line_bytes: int = 0


class ShellOutcome(Struct, frozen=True):
    """How a command ended. `output` is up to 1 MiB of it, the middle cut out beyond that; `seconds` is wall time."""

    status: ExitStatus
    progress: ShellProgress
    output: str
    is_output_cut: bool
    seconds: float


async def run_shell_command(
    environment: Environment,
    command: str,
    *,
    shell_path: str | None = None,
    cwd: str | None = None,
    env: Mapping[str, str | None] | None = None,
    timeout: float | None = None,
    signal: AbortSignal | None = None,
    on_progress: Callable[[ShellProgress], None] | None = None,
    on_text: Callable[[str], Awaitable[None]] | None = None,
) -> ShellOutcome:
    """Run `command` in a shell and return how it ended, whatever its exit code.

    `on_progress` hears of the first output at once, then at most every 100 ms, and of the last state if that is new.
    `on_text` hears every piece of output as it comes; while it takes its time the command has to wait.
    `ToolError` if the shell or the folder is missing, or the system refuses to start it.
    """
    folder = environment.cwd if cwd is None else cwd
    info = await environment.stat(folder)
    if info is None or info.kind != "directory":
        raise ToolError(f"Working directory does not exist: {folder}\nCannot execute bash commands.")
    if "\0" in command:
        raise ToolError("A shell command cannot contain a NUL character.")
    output = _Output(environment, on_progress, on_text)
    started = time.monotonic()
    try:
        shell = await environment.shell(shell_path)
        status = await environment.run(
            [*shell, well_formed(command)],
            cwd=folder,
            env=env,
            timeout=timeout,
            signal=signal,
            on_output=output.take,
        )
    except ShellNotFound as error:
        raise ToolError(str(error)) from error
    except Unreachable as error:
        shown = output.progress().truncation.content
        raise ToolError(f"{shown}\n\n{error}" if shown else str(error)) from error
    except OSError as error:
        raise ToolError(describe(error, "run", str(error.filename or command[:80]))) from error
    finally:
        output.stop_timer()
    await output.finish()
    edges, seconds = output.edges, time.monotonic() - started
    return ShellOutcome(status, output.progress(), edges.text(), edges.is_cut, seconds)


class _Output:
    """Everything that one command writes."""

    def __init__(
        self,
        environment: Environment,
        on_progress: Callable[[ShellProgress], None] | None,
        on_text: Callable[[str], Awaitable[None]] | None,
    ) -> None:
        self.edges = _Edges()
        self._environment = environment
        self._on_progress = on_progress
        self._on_text = on_text
        self._streams = {"stdout": TerminalText(), "stderr": TerminalText()}
        self._tail = TailBuffer()
        self._raw = bytearray()
        self._path: str | None = None
        self._saved_at = float("-inf")
        self._save_failed = False
        self._timer: asyncio.TimerHandle | None = None
        self._reported_at = float("-inf")
        self._unreported = False

    async def take(self, data: bytes, stream: Literal["stdout", "stderr"]) -> None:
        self._raw += data
        await self._add(self._streams[stream].feed(data))
        await self._save()
        if self._unreported:
            self._report_soon()

    async def finish(self) -> None:
        for stream in self._streams.values():
            await self._add(stream.finish())
        await self._save(at_end=True)
        if self._unreported:
            self._report()

    def progress(self) -> ShellProgress:
        truncation = self._tail.truncation()
        return ShellProgress(truncation, self._path if truncation.truncated else None, self._tail.last_line_bytes)

    def stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    async def _add(self, text: str) -> None:
        if text:
            self._tail.append(text)
            self.edges.append(text)
            if self._on_text is not None:
                await self._on_text(text)
            self._unreported = True

    async def _save(self, *, at_end: bool = False) -> None:
        """Keep the raw bytes: in memory while all can be shown, in the file from the moment that it cannot."""
        if self._path is None and not self._tail.exceeds_limit and len(self._raw) <= _FLUSH_BYTES:
            return
        is_due = time.monotonic() - self._saved_at >= _FLUSH_SECONDS or len(self._raw) >= _FLUSH_BYTES
        if not (at_end or is_due):
            return
        data, self._raw, self._saved_at = bytes(self._raw), bytearray(), time.monotonic()
        if self._save_failed:
            return
        try:
            if self._path is None:
                self._path = await self._environment.temp_file("pi-bash-", ".log")
            await self._environment.append_bytes(self._path, data)
            if at_end and not self._tail.exceeds_limit:
                await self._environment.remove(self._path)
        except OSError:  # a full disk, for example: no reason to kill the command
            self._path, self._save_failed = None, True

    def _report_soon(self) -> None:
        if self._on_progress is None or self._timer is not None:
            return
        wait = self._reported_at + UPDATE_SECONDS - time.monotonic()
        if wait <= 0:
            self._report()
        else:
            self._timer = asyncio.get_running_loop().call_later(wait, self._report)

    def _report(self) -> None:
        self.stop_timer()
        self._reported_at = time.monotonic()
        self._unreported = False
        if self._on_progress is not None:
            self._on_progress(self.progress())


class _Edges:
    """The beginning and the end of a text of any length."""

    def __init__(self) -> None:
        self._head = bytearray()
        self._tail = bytearray()
        self._beyond = 0  # bytes that are not in the head

    def append(self, text: str) -> None:
        data = text.encode()
        room = max(0, _WHOLE_OUTPUT_BYTES - len(self._head)) if not self._beyond else 0
        self._head += data[:room]
        self._tail += data[room:]
        self._beyond += len(data) - len(data[:room])
        if len(self._tail) > 2 * _EDGE_BYTES:
            del self._tail[:-_EDGE_BYTES]

    @property
    def is_cut(self) -> bool:
        return self._beyond > 0

    def text(self) -> str:
        if not self.is_cut:
            return self._head.decode()
        start = self._head[:_EDGE_BYTES].decode(errors="ignore")
        end = (self._head[_EDGE_BYTES:] + self._tail)[-_EDGE_BYTES:].decode(errors="ignore")
        omitted = len(self._head) + self._beyond - len(start.encode()) - len(end.encode())
        return f"{start}\n\n[... {omitted} bytes omitted ...]\n\n{end}"
