"""What signals do to the modes without a screen.

The first SIGINT asks the run to stop and lets the mode end in order with 130; a second one ends the process at once.
SIGTERM and SIGHUP dispose of the session and end with 143 and 129, in time even if a handler of an extension holds the
event loop. Children that lead process groups of their own are killed first, because nobody else would.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from types import FrameType
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from piolet.app.runtime import Runtime
    from piolet.modes.output import Output

#: Seconds that a run has to end after a signal, before the process does.
GRACE = 3.0


class Signals:
    """Listens while it is entered. `interrupt` runs in the event loop at the first SIGINT, `terminate` at SIGTERM and
    SIGHUP; by default that cancels the task that entered. `seconds` are left to end in order. `exit_code` is None until
    a signal came.
    """

    def __init__(
        self, interrupt: Callable[[], object], terminate: Callable[[], object] | None = None, seconds: float = GRACE
    ) -> None:
        self.exit_code: int | None = None
        self._interrupt = interrupt
        self._terminate = terminate
        self._seconds = seconds
        self._before: dict[int, object] = {}

    def __enter__(self) -> Signals:
        self._loop = asyncio.get_running_loop()
        task = asyncio.current_task()
        if self._terminate is None and task is not None:
            self._terminate = task.cancel
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if number == signal.SIGHUP and signal.getsignal(number) == signal.SIG_IGN:
                continue  # nohup: the run shall outlive its terminal
            self._before[number] = signal.signal(number, self._on_signal)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]

    async def end(self, runtime: Runtime, output: Output) -> None:
        """Dispose of `runtime` and write what waits; after a signal that is the end of the process."""

        async def in_order() -> None:
            await runtime.dispose()
            await output.flush()

        if self.exit_code is not None:
            await self.leave(in_order())
        await in_order()

    async def leave(self, disposal: Awaitable[None]) -> NoReturn:
        """End the process after a signal: in order if there is time for `disposal`, else as it is.

        Threads that are stuck do not hold it up.
        """
        assert self.exit_code is not None, "only after a signal"
        try:
            async with asyncio.timeout(self._seconds):
                await disposal
        except Exception as error:
            if not isinstance(error, TimeoutError):
                self._loop.call_exception_handler({"message": "The session did not end in order", "exception": error})
        _kill_children()
        sys.stderr.flush()
        os._exit(self.exit_code)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self.exit_code is not None:
            _kill_children()
            os._exit(128 + number)
        self.exit_code = 128 + number
        if number == signal.SIGINT:
            self._loop.call_soon_threadsafe(self._interrupt)
        else:
            _kill_children()
            signal.signal(signal.SIGALRM, self._on_time_up)
            signal.setitimer(signal.ITIMER_REAL, self._seconds + 0.1)
            self._loop.call_soon_threadsafe(self._terminate or self._interrupt)

    def _on_time_up(self, number: int, frame: FrameType | None) -> None:
        _kill_children()
        os._exit(self.exit_code or 0)


def _kill_children() -> None:
    from piolet.harness.environments.processes import kill_all_process_groups

    kill_all_process_groups()
