"""What signals do to the modes without a screen.

The first SIGINT asks the run to stop and lets the mode end in order with 130; a second one ends the process at once.
SIGTERM and SIGHUP dispose of the session and end with 143 and 129. Children that lead process groups of their own are
killed first, because nobody else would.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from types import FrameType


class Signals:
    """Listens while it is entered. `interrupt` runs in the event loop at the first SIGINT, `terminate` at SIGTERM and
    SIGHUP; by default that cancels the task that entered. `exit_code` is None until a signal came.
    """

    def __init__(self, interrupt: Callable[[], object], terminate: Callable[[], object] | None = None) -> None:
        self.exit_code: int | None = None
        self._interrupt = interrupt
        self._terminate = terminate
        self._before: dict[int, object] = {}

    def __enter__(self) -> Signals:
        self._loop = asyncio.get_running_loop()
        task = asyncio.current_task()
        if self._terminate is None and task is not None:
            self._terminate = task.cancel
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            self._before[number] = signal.signal(number, self._on_signal)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self.exit_code is not None:
            _kill_children()
            os._exit(128 + number)
        self.exit_code = 128 + number
        if number == signal.SIGINT:
            self._loop.call_soon_threadsafe(self._interrupt)
        else:
            _kill_children()
            self._loop.call_soon_threadsafe(self._terminate or self._interrupt)


def _kill_children() -> None:
    from piolet.harness.environments.processes import kill_all_process_groups

    kill_all_process_groups()
