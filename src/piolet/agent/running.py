"""One operation at a time, in a task of its own, so that a cancelled caller does not tear it in the middle."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Any, TypeVar

from piolet.base.abort import AbortController, AbortSignal

T = TypeVar("T")

#: The operations that the present code runs inside of.
_inside: ContextVar[frozenset[object]] = ContextVar("piolet_inside", default=frozenset())


class Busy(RuntimeError):
    """Another operation is under way; the text names it. Also: code inside an operation that would wait for itself."""


class RunSlot:
    """Holds at most one running operation. Idle, it holds no task."""

    def __init__(self) -> None:
        self._name: str | None = None
        self._controller: AbortController | None = None
        self._tasks: dict[object, asyncio.Task[Any]] = {}

    @property
    def running(self) -> str | None:
        """The name of the operation under way; None when another may start."""
        return self._name

    @property
    def signal(self) -> AbortSignal | None:
        """The signal of the operation under way."""
        return self._controller.signal if self._controller else None

    @property
    def inside(self) -> bool:
        """Whether the present code runs inside this slot's operation."""
        return not _inside.get().isdisjoint(self._tasks)

    def check_free(self, wanted: str) -> None:
        """Raise `Busy` if an operation is under way."""
        if self._name is not None:
            raise Busy(f"Cannot start {wanted} while {self._name} is under way")

    async def run(self, name: str, work: Callable[[AbortSignal], Awaitable[T]], parent: AbortSignal | None = None) -> T:
        """Run ``work(signal)`` in a new task and return its result.

        A caller that is cancelled sets the signal and leaves; the operation ends in its own order. An abort of `parent`
        aborts the operation too. Raises `Busy` when the slot is taken.
        """
        self.check_free(name)
        controller = AbortController(parent)
        self._name, self._controller = name, controller
        token = object()

        async def operation() -> T:
            _inside.set(_inside.get() | {token})
            return await work(controller.signal)

        def end(task: asyncio.Task[T]) -> None:
            controller.close()
            if self._controller is controller:
                self.release()
            del self._tasks[token]
            if not task.cancelled():
                task.exception()  # it is the caller's; if the caller has left, nobody's

        task = self._tasks[token] = asyncio.create_task(operation(), name=name)
        task.add_done_callback(end)  # comes before anybody who waits for the task; also if it is cancelled unbegun
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            controller.abort("the caller was cancelled")
            raise

    def release(self) -> None:
        """Let the next operation start, while the present one tells that it is over."""
        self._name = self._controller = None

    def abort(self, reason: str = "aborted") -> None:
        """Set the signal of the operation under way, if any."""
        if self._controller:
            self._controller.abort(reason)

    async def wait_idle(self) -> None:
        """Return when nothing is under way. Raises `Busy` inside the operation, where it would wait for itself."""
        if self.inside:
            raise Busy(
                "An operation cannot wait for its own end: return first. "
                "A task that outlives its handler calls piolet.agent.running.outside() before it waits"
            )
        while self._tasks:
            await asyncio.wait(set(self._tasks.values()))


def outside() -> None:
    """Say that the present task belongs to no operation (a background task that a handler started)."""
    _inside.set(frozenset())
