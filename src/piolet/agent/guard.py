"""How the loop awaits what others wrote (callbacks, tools, subscribers): it may raise, hang, or be cancelled inside."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Final, TypeVar

from piolet.base.abort import AbortSignal, abortable

T = TypeVar("T")

#: Seconds that a callback or tool has after an abort before it is cancelled.
GRACE: Final = 2.0
#: Seconds that a cancelled tool has to end before it is left behind.
LAST_GRACE: Final = 1.0


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


def reason_of(error: Exception) -> str:
    """Return what to tell of `error`: its text, or its name where it has none."""
    return str(error) or type(error).__name__
