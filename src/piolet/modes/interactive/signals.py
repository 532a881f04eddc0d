"""What signals do while the screen is shown: the terminal is always given back as it was.

In raw mode Ctrl+C is a key. A SIGINT from elsewhere stops the answer like that key, or leaves when nothing is under
way; a second one, and any further signal, ends at once. SIGTERM and SIGHUP dispose of the session and leave.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from types import FrameType


class ScreenSignals:
    """Listens while it is entered.

    `interrupt` and `leave` run in the event loop: at the first SIGINT, and with the exit code at SIGTERM and SIGHUP.
    `restore` gives the terminal back at once, from wherever the program stands.
    """

    def __init__(
        self, interrupt: Callable[[], object], leave: Callable[[int], object], restore: Callable[[], object]
    ) -> None:
        self._interrupt, self._leave, self._restore = interrupt, leave, restore
        self._seen = False
        self._before: dict[int, object] = {}

    def __enter__(self) -> ScreenSignals:
        self._loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            self._before[number] = signal.signal(number, self._on_signal)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]

    def again(self) -> None:
        """What the first SIGINT stopped is over: the next one is a first again."""
        self._seen = False

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self._seen:
            from piolet.harness.environments.processes import kill_all_process_groups

            kill_all_process_groups()
            self._restore()
            os._exit(128 + number)
        self._seen = True
        if number == signal.SIGINT:
            self._loop.call_soon_threadsafe(self._interrupt)
        else:
            self._loop.call_soon_threadsafe(self._leave, 128 + number)
