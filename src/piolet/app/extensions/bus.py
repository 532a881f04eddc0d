"""The event bus: how extensions of one session speak to each other."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from msgspec import Struct

from piolet.app.extensions.errors import no_exit

BusHandler: TypeAlias = Callable[[Any], Awaitable[object] | object]


class _Subscription(Struct, frozen=True, eq=False):
    owner: object
    handler: BusHandler


class Bus:
    """Hands what is emitted on a channel to its subscribers, in the order in which they came.

    `run_later` takes what async subscribers return; `on_error` is told the owner, the channel and what was raised.
    """

    def __init__(
        self,
        run_later: Callable[[object, str, Awaitable[object]], object],
        on_error: Callable[[object, str, Exception], None],
    ) -> None:
        self._run_later = run_later
        self._on_error = on_error
        self._subscriptions: dict[str, list[_Subscription]] = {}

    def emit(self, channel: str, data: Any = None) -> None:
        """Call the subscribers of `channel`; async ones go on by themselves."""
        for subscription in tuple(self._subscriptions.get(channel, ())):
            try:
                with no_exit():
                    result = subscription.handler(data)
            except Exception as error:
                self._on_error(subscription.owner, channel, error)
            else:
                if inspect.isawaitable(result):
                    self._run_later(subscription.owner, channel, result)

    def on(self, owner: object, channel: str, handler: BusHandler) -> Callable[[], None]:
        """Subscribe `handler` to `channel`; return a function that ends it."""
        subscription = _Subscription(owner, handler)
        self._subscriptions.setdefault(channel, []).append(subscription)

        def remove() -> None:
            rest = [other for other in self._subscriptions.get(channel, ()) if other is not subscription]
            self._subscriptions[channel] = rest

        return remove

    def drop(self, owner: object) -> None:
        """Drop the subscriptions of `owner`."""
        for channel, subscriptions in self._subscriptions.items():
            self._subscriptions[channel] = [one for one in subscriptions if one.owner is not owner]

    def clear(self) -> None:
        """Drop all subscriptions."""
        self._subscriptions.clear()
