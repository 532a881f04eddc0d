"""Puts the messages of a run into the session, each once, in the order in which they become final."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from piolet.harness.messages import KnownMessage
from piolet.harness.session.errors import InvalidEntry, SessionError
from piolet.llm.messages import BaseMessage, ToolResultMessage

if TYPE_CHECKING:
    from piolet.harness.harness import AgentHarness


class Recorder:
    """Remembers which message became which entry during the present run, and why the session failed, if it did."""

    def __init__(self, harness: AgentHarness) -> None:
        self._harness = harness
        self._entries: dict[int, tuple[BaseMessage, str]] = {}
        #: Why the session could not take something in the present operation.
        self.failure: SessionError | None = None

    def begin(self) -> None:
        """Start anew: an operation begins."""
        self.failure = None
        self._entries.clear()

    @contextmanager
    def recording(self) -> Iterator[None]:
        """If the session cannot take something, remember why and stop what is under way."""
        try:
            yield
        except SessionError as error:
            self.fail(error)

    def fail(self, error: SessionError) -> None:
        """Stop what is under way, since the session cannot take it. The context becomes what the session holds."""
        self.failure = self.failure or error
        self._harness.context.invalidate()
        self._harness.request_abort("the session could not be written")

    def store(self, message: BaseMessage) -> str:
        """Append `message` unless this very object is stored already; return its entry's id. Raises `SessionError`."""
        known = self._entries.get(id(message))
        if known is not None:
            return known[1]
        entry_id = self.append(message)
        self._entries[id(message)] = (message, entry_id)
        return entry_id

    def append(self, message: BaseMessage) -> str:
        """Append a message that is no part of the run; return its entry's id. Raises `SessionError`."""
        if not isinstance(message, KnownMessage):
            raise InvalidEntry(f"A {type(message).__name__} cannot be stored; send a CustomMessage instead")
        return self._harness.session.append_message(message)

    def entry_id(self, message: BaseMessage) -> str | None:
        """Return the id under which `message` was stored in this run."""
        known = self._entries.get(id(message))
        return known[1] if known else None

    def result_id(self, tool_call_id: str) -> str | None:
        """Return the id under which the last result of a call was stored in this run."""
        for message, entry_id in reversed(self._entries.values()):
            if isinstance(message, ToolResultMessage) and message.tool_call_id == tool_call_id:
                return entry_id
        return None

    def forget(self) -> None:
        """The run is over: nobody asks about its messages any more."""
        self._entries.clear()
