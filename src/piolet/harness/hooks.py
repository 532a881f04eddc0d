"""One typed registry of hooks, for embedders and extensions alike.

A hook is a moment at which handlers are asked. An observing hook has no `fold`; a transforming one folds each result
into the event, so that the next handler sees the change; a veto folds and is done at the first answer that decides.
Handlers run by rank, then in the order of registration, each awaited before the next; the list is fixed when the event
starts. A handler that raises is reported with its owner and skipped, unless the hook says what a failure means.
"""

from __future__ import annotations

import bisect
import inspect
import time
import traceback
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Generic, TypeAlias, TypeVar, cast, overload

from msgspec import Struct

from piolet.agent.guard import Patience
from piolet.base.abort import AbortSignal

E = TypeVar("E")
R = TypeVar("R")

#: Seconds from which on a handler counts as slow.
SLOW = 1.0


class Hook(Struct, Generic[E, R], frozen=True, eq=False):
    """A moment. `E`: the event, as changed so far; `R`: what a handler may return.

    `copy` makes the handler's own event: what it left in it is taken over when it returns normally, never when it
    raises. `fold` takes a result in. `done`: no further handler is asked. `failed`: what a raise means.
    """

    name: str
    fold: Callable[[E, R], E] | None = None
    copy: Callable[[E], E] | None = None
    done: Callable[[E], bool] = lambda event: False
    failed: Callable[[E, Exception], E] | None = None


Handler: TypeAlias = Callable[[E], R | Awaitable[R | None] | None]


class HookFailure(Struct, frozen=True):
    """A handler that raised (`error`), or took long (`error` is None). `seconds`: how long it ran."""

    hook: str
    owner: object
    event: object
    error: Exception | None
    seconds: float

    @property
    def stack(self) -> str:
        return "".join(traceback.format_exception(self.error)) if self.error else ""


class _Registration(Struct, frozen=True, eq=False):
    handler: Handler[Any, Any]
    owner: object
    rank: int


class Hooks:
    """Who is asked at which hook. Handlers have an owner and can be dropped by it."""

    def __init__(self, on_failure: Callable[[HookFailure], None] | None = None) -> None:
        self._handlers: dict[str, list[_Registration]] = {}
        self._patience = Patience()
        self.on_failure = on_failure

    @overload
    def on(
        self, hook: Hook[E, R], handler: Handler[E, R], *, owner: object = None, rank: int = 0
    ) -> Callable[[], None]: ...
    @overload
    def on(
        self, hook: str, handler: Handler[Any, Any], *, owner: object = None, rank: int = 0
    ) -> Callable[[], None]: ...

    def on(
        self, hook: Hook[E, R] | str, handler: Handler[E, R], *, owner: object = None, rank: int = 0
    ) -> Callable[[], None]:
        """Ask `handler` (sync or async) at `hook`, after those of lower `rank`; return a function that withdraws it."""
        name = hook if isinstance(hook, str) else hook.name
        registration = _Registration(handler, owner, rank)
        bisect.insort(self._handlers.setdefault(name, []), registration, key=lambda other: other.rank)

        def remove() -> None:
            self._handlers[name] = [other for other in self._handlers[name] if other is not registration]

        return remove

    def drop(self, owner: object) -> None:
        """Withdraw all handlers of `owner`."""
        for name, registrations in self._handlers.items():
            self._handlers[name] = [other for other in registrations if other.owner is not owner]

    def wanted(self, hook: Hook[E, R] | str) -> bool:
        """Whether anybody is asked at `hook`: events that cost something to make need not be made otherwise."""
        return bool(self._handlers.get(hook if isinstance(hook, str) else hook.name))

    async def run(self, hook: Hook[E, R], event: E, signal: AbortSignal | None = None) -> E:
        """Ask every handler and return the event as they changed it. Never raises for what a handler does."""
        for registration in tuple(self._handlers.get(hook.name, ())):
            begin = time.monotonic()
            try:
                own = hook.copy(event) if hook.copy else event
                result = await self._ask(registration.handler, own, signal)
                if hook.copy:
                    event = own
                if result is not None and hook.fold:
                    event = hook.fold(event, cast(R, result))
            except Exception as error:
                self.report(HookFailure(hook.name, registration.owner, event, error, time.monotonic() - begin))
                if hook.failed:
                    event = hook.failed(event, error)
            else:
                if (seconds := time.monotonic() - begin) >= SLOW:
                    self.report(HookFailure(hook.name, registration.owner, event, None, seconds))
            if hook.done(event):
                break
        return event

    async def tell(
        self,
        name: str,
        listener: Handler[Any, Any],
        event: object,
        signal: AbortSignal | None,
        owner: object = None,
    ) -> None:
        """Call one listener that is in no list here, with the same care. `owner`: by default the listener itself."""
        begin = time.monotonic()
        try:
            await self._ask(listener, event, signal)
        except Exception as error:
            self.report(HookFailure(name, owner or listener, event, error, time.monotonic() - begin))

    async def _ask(self, handler: Handler[Any, Any], event: object, signal: AbortSignal | None) -> object:
        """After an abort a handler has 2 s, then it is cancelled."""
        result = handler(event)
        return await self._patience.wait_for(result, signal) if inspect.isawaitable(result) else result

    def report(self, failure: HookFailure) -> None:
        """Tell of a failure."""
        if self.on_failure is not None:
            with suppress(Exception):  # there is nobody left to tell
                self.on_failure(failure)
