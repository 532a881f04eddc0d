"""What running tool calls tell the loop's task: their newest partial results, from any thread, and their ends."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Final

from piolet.agent.tools import ToolResult

#: Seconds within which ends count as simultaneous: chance in the scheduling of threads decides no order then.
SAME_MOMENT: Final = 0.005


class Reports:
    """The reports of calls that run together, numbered in call order.

    Partial results that come faster than they are read are coalesced, so that a flood costs neither memory nor order:
    what a call reports is told before its end, never after it. Ends are told as they come, simultaneous ones in call
    order.
    """

    def __init__(self, calls: Iterable[int]) -> None:
        self._loop = asyncio.get_running_loop()
        self._queue: asyncio.Queue[tuple[int, ToolResult | None]] = asyncio.Queue()
        self._running = set(calls)
        self._unread = len(self._running)
        self._newest: dict[int, ToolResult] = {}
        self._ended: dict[int, ToolResult] = {}
        self._lock = threading.Lock()

    def updater(self, call: int) -> Callable[[ToolResult], None]:
        """Return the `on_update` of `call`."""

        def update(result: ToolResult) -> None:
            with self._lock:
                if call not in self._running:
                    return
                if call not in self._newest:
                    self._put(call, None)
                self._newest[call] = result

        return update

    def finish(self, call: int, result: ToolResult) -> None:
        """Report the end of `call`; a second one is ignored, as is everything that the call reports afterwards.

        In the event loop's thread.
        """
        with self._lock:
            if call not in self._running:
                return
            self._running.remove(call)
        self._ended[call] = result
        if self._running and call > min(self._running):
            self._loop.call_later(SAME_MOMENT, self._tell_ends, call)
        else:
            self._tell_ends(min(self._running, default=max(self._ended)))

    def _tell_ends(self, up_to: int) -> None:
        for call in sorted(call for call in self._ended if call <= up_to):
            with self._lock:
                self._put(call, self._ended.pop(call))

    def finish_all(self, result: ToolResult) -> None:
        """Report `result` as the end of every call that still runs."""
        for call in sorted(self._running):
            self.finish(call, result)

    def _put(self, call: int, end: ToolResult | None) -> None:
        """With the lock held: the order in which it is taken is the order of the reports."""
        with suppress(RuntimeError):  # the loop is closed: nobody is left to tell
            self._loop.call_soon_threadsafe(self._queue.put_nowait, (call, end))

    async def next(self) -> tuple[int, ToolResult, bool] | None:
        """Return a call, what it reports, and whether that is its end; None after the last end."""
        if not self._unread:
            return None
        call, end = await self._queue.get()
        if end is not None:
            self._unread -= 1
            return call, end, True
        with self._lock:
            return call, self._newest.pop(call), False
