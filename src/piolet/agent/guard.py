"""How the agent awaits what others wrote (callbacks, tools, handlers): it may raise, hang, or be cancelled inside."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Final, TypeVar

from piolet.base.abort import AbortSignal, Interrupted, abortable

T = TypeVar("T")

#: Seconds that a callback or tool has after an abort before it is cancelled.
GRACE: Final = 2.0
#: Seconds that a cancelled tool has to end before it is left behind.
LAST_GRACE: Final = 1.0
#: Seconds that handlers have for each further event of an aborted run in which one of them had to be cancelled.
SHORT_GRACE: Final = 0.1


class CancelledInside(RuntimeError):
    """What a callback awaited was cancelled; nobody cancelled the callback itself."""


async def guarded(work: Awaitable[T], signal: AbortSignal | None, grace: float = GRACE) -> T:
    """Await `work`; after an abort it has `grace` seconds, then it is cancelled and `Interrupted` is raised.

    A CancelledError that is not for the present task becomes `CancelledInside`, so that it cannot tear a run.
    """
    try:
        return await abortable(work, signal, grace)
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        raise CancelledInside("Something that it waited for was cancelled") from None


class Patience:
    """`guarded` for those who tell many handlers of many events: a handler that hangs holds up an abort only once."""

    def __init__(self) -> None:
        self._lost_with: AbortSignal | None = None

    async def wait_for(self, work: Awaitable[T], signal: AbortSignal | None) -> T:
        """Await what a handler gave. Raises TimeoutError if it had to be cancelled."""
        short = signal is not None and signal is self._lost_with
        try:
            return await guarded(work, signal, SHORT_GRACE if short else GRACE)
        except Interrupted:
            self._lost_with = signal
            raise TimeoutError("Cancelled: it was still busy 2 s after the run was aborted") from None


def reason_of(error: Exception) -> str:
    """Return what to tell of `error`: its text, or its name where it has none."""
    return str(error) or type(error).__name__
