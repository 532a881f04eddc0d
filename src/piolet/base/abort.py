"""The soft stop: a controller that aborts, and the signal that work listens to.

An abort is a request. Work that sees it ends in order and leaves everything valid; nobody's task is cancelled by the
signal itself. Safe to abort from any thread.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")


class Aborted(Exception):
    """Raised by work that stops because its signal was aborted."""


class Interrupted(Aborted):
    """Raised by `abortable`: the work did not stop by itself and was cancelled."""


class AbortSignal:
    """Tells whether, and when, work should stop. Made by an `AbortController`."""

    def __init__(self) -> None:
        self._reason: str | None = None
        self._listeners: dict[object, tuple[asyncio.AbstractEventLoop | None, Callable[[], None]]] = {}

    @property
    def aborted(self) -> bool:
        return self._reason is not None

    @property
    def reason(self) -> str | None:
        """Why it was aborted; None while it is not."""
        return self._reason

    def throw_if_aborted(self) -> None:
        """Raise `Aborted` if the signal is set."""
        if self._reason is not None:
            raise Aborted(self._reason)

    def on_abort(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call `listener` once at the abort, at once if that was before; return a function that withdraws it.

        Inside an event loop the listener runs in that loop's thread, whichever thread aborts.
        """
        token = object()
        self._listeners[token] = (_running_loop(), listener)
        if self._reason is not None:  # asked last: another thread may abort at any moment
            self._tell(token)
        return lambda: self._listeners.pop(token, None) and None

    async def wait(self) -> None:
        """Return when the signal is aborted."""
        done = asyncio.Event()
        remove = self.on_abort(done.set)
        try:
            await done.wait()
        finally:
            remove()

    def _fire(self, reason: str) -> None:
        if self._reason is not None:
            return
        self._reason = reason
        here = _running_loop()
        for token, (loop, _) in self._listeners.copy().items():
            if loop is None or loop is here:
                self._tell(token)
            else:
                with contextlib.suppress(RuntimeError):  # the loop is closed: nobody is left to tell
                    loop.call_soon_threadsafe(self._tell, token)

    def _tell(self, token: object) -> None:
        """Call a listener unless it was called or withdrawn meanwhile. One that raises does not keep it from others."""
        loop, listener = self._listeners.pop(token, (None, None))
        try:
            if listener is not None:
                listener()
        except Exception as error:
            if loop is None:
                raise
            loop.call_exception_handler({"message": "A listener of an abort raised", "exception": error})


class AbortController:
    """Owns one `AbortSignal`; with `parent`, an abort of the parent aborts this one too."""

    def __init__(self, parent: AbortSignal | None = None) -> None:
        self.signal = AbortSignal()
        self._detach: Callable[[], None] = lambda: None
        if parent is not None:
            self._detach = parent.on_abort(lambda: self.abort(parent.reason or "aborted"))

    def abort(self, reason: str = "aborted") -> None:
        """Set the signal; the second call and later ones do nothing."""
        self.signal._fire(reason)

    def close(self) -> None:
        """Stop listening to the parent."""
        self._detach()


async def abortable(work: Awaitable[T], signal: AbortSignal | None, grace: float = 0) -> T:
    """Await `work`, but raise `Interrupted`, with `work` cancelled, when `signal` is set and `grace` seconds are over.

    The await itself is interrupted, by a deadline that the abort sets: no extra task. Without grace, work whose signal
    is already set is not begun.
    """
    if signal is None:
        return await work
    if signal.aborted and grace <= 0:
        if asyncio.iscoroutine(work):
            work.close()
        elif isinstance(work, asyncio.Future):
            work.cancel()
        raise Interrupted(signal.reason)
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(None) as scope:
            remove = signal.on_abort(lambda: scope.reschedule(loop.time() + grace))
            try:
                return await work
            except Interrupted as error:  # of a wait inside of `work`, which ended by itself then
                raise Aborted(str(error)) from error
            finally:
                remove()
    except TimeoutError:
        if scope.expired():
            raise Interrupted(signal.reason) from None
        raise


async def sleep(seconds: float, signal: AbortSignal | None = None) -> None:
    """Sleep, or raise `Aborted` when `signal` is set before the time is over."""
    await abortable(asyncio.sleep(seconds), signal)


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
