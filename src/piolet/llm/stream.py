"""The handle on one answer while it streams."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from typing import Protocol

from piolet.llm.events import AssistantEvent, DoneEvent, ErrorEvent
from piolet.llm.messages import AssistantMessage
from piolet.llm.model import Context, Model, StreamOptions


class AssistantStream:
    """An async iterator of events, and an awaitable final message. Nothing happens before somebody iterates or awaits.

    It never raises for what a provider or the network does: the failure is the last event, and the final message
    carries `stop_reason` "error" or "aborted", `error_message` and whatever had arrived.
    """

    def __init__(self, events: AsyncGenerator[AssistantEvent, None], partial: Callable[[], AssistantMessage]) -> None:
        self._events = events
        self._partial = partial
        self._final: AssistantMessage | None = None
        #: Milliseconds that the server asked to wait before another try (``Retry-After``), for the outer retry policy.
        self.retry_after_ms: int | None = None

    @property
    def partial(self) -> AssistantMessage:
        """A snapshot of what has arrived so far, made now."""
        return self._final if self._final is not None else self._partial()

    def __aiter__(self) -> AsyncIterator[AssistantEvent]:
        return self

    async def __anext__(self) -> AssistantEvent:
        event = await anext(self._events)
        match event:
            case DoneEvent(message=message) | ErrorEvent(error=message):
                self._final = message
            case _:
                pass
        return event

    async def result(self) -> AssistantMessage:
        """Read the rest of the stream and return the final message."""
        async for _ in self:
            pass
        assert self._final is not None, "a stream ends with a terminal event"
        return self._final

    async def aclose(self) -> None:
        """Give up: close the connection. The stream has no final message then, unless it already ended."""
        await self._events.aclose()


class StreamFunction(Protocol):
    """Whatever can answer: `Models.stream`, a scripted model in a test, an embedder's own."""

    def __call__(self, model: Model, context: Context, options: StreamOptions) -> AssistantStream: ...
