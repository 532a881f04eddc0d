"""Limits of time on a machine with other work, which only makes a try longer: the quickest of a few counts."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

TRIES = 6
PATIENCE = 60.0


def quickest(attempt: Callable[[], float], limit: float) -> float:
    """Return the shortest time that `attempt` returns in a few tries; the first below `limit` is the last try."""
    times: list[float] = []
    while len(times) < TRIES and min(times, default=limit) >= limit:
        times.append(attempt())
    return min(times)


async def quickest_async(attempt: Callable[[], Awaitable[float]], limit: float) -> float:
    """Do the same as `quickest` with a coroutine function."""
    times: list[float] = []
    while len(times) < TRIES and min(times, default=limit) >= limit:
        times.append(await attempt())
    return min(times)


class TooSlow(AssertionError):
    """Something took longer than it may; `patiently` tries again."""


def within(seconds: float, limit: float, what: str = "it") -> None:
    """Raise `TooSlow` if `seconds` are more than `limit`."""
    if seconds > limit:
        raise TooSlow(f"{what} took {seconds:.1f} s, at most {limit:g} s expected")


def patiently(check: Callable[[], object]) -> None:
    """Run `check`, a few times if it is too slow."""
    for _ in range(TRIES - 1):
        try:
            check()
        except TooSlow:
            continue
        return
    check()


async def until(condition: Callable[[], object], timeout: float = PATIENCE) -> None:
    """Return when `condition` is true; AssertionError after `timeout` seconds."""
    deadline = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        await asyncio.sleep(0.005)


def wait_until(condition: Callable[[], object], timeout: float = PATIENCE) -> None:
    """Do the same as `until` without an event loop."""
    deadline = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.005)
