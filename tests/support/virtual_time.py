"""An event loop whose clock jumps to the next timer: waits of seconds take no time and end in the right order."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class _JumpingLoop(asyncio.SelectorEventLoop):
    """For code that waits for timers alone: no threads, no input."""

    _now = 0.0

    def time(self) -> float:
        return self._now

    def _run_once(self) -> None:
        timers = [timer.when() for timer in self._scheduled if not timer.cancelled()]  # type: ignore[attr-defined]
        if timers and not self._ready:  # type: ignore[attr-defined]
            self._now = max(self._now, min(timers))
        super()._run_once()  # type: ignore[misc]


def run_jumping(coroutine: Coroutine[Any, Any, T]) -> T:
    """Return what `coroutine` gives. Fails if it leaves a task, or if something was reported to the event loop."""
    reports: list[dict[str, Any]] = []
    with asyncio.Runner(loop_factory=_JumpingLoop) as runner:
        runner.get_loop().set_exception_handler(lambda loop, report: reports.append(report))
        result = runner.run(coroutine)
        left = asyncio.all_tasks(runner.get_loop())
        assert not left, f"tasks left: {left}"
    assert not reports, f"reported to the event loop: {reports}"
    return result


def jumping(test: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    """Make a test of a coroutine function: it runs as `run_jumping` runs it."""

    @functools.wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        run_jumping(test(*args, **kwargs))

    return run


def now() -> float:
    """The time of the running loop, in seconds."""
    return asyncio.get_running_loop().time()
