"""Puts the messages of a run into the session, each once, in the order in which they become final."""

from __future__ import annotations

from piolet.harness.messages import CustomMessage, KnownMessage
from piolet.harness.session.session import Session
from piolet.llm.messages import BaseMessage, ToolResultMessage


class Recorder:
    """Remembers which message became which entry during the present run."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._entries: dict[int, tuple[BaseMessage, str]] = {}

    def store(self, message: BaseMessage) -> str:
        """Append `message` unless this very object is stored already; return its entry's id. Raises `SessionError`."""
        known = self._entries.get(id(message))
        if known is not None:
            return known[1]
        if isinstance(message, CustomMessage):
            entry_id = self._session.append_custom_message(
                message.custom_type, message.content, message.display, message.details
            )
        else:
            assert isinstance(message, KnownMessage)
            entry_id = self._session.append_message(message)
        self._entries[id(message)] = (message, entry_id)
        return entry_id

    def entry_id(self, message: BaseMessage) -> str | None:
        """Return the id under which `message` was stored in this run."""
        known = self._entries.get(id(message))
        return known[1] if known else None

    def result_id(self, tool_call_id: str) -> str | None:
        """Return the id under which the result of a call was stored in this run."""
        for message, entry_id in self._entries.values():
            if isinstance(message, ToolResultMessage) and message.tool_call_id == tool_call_id:
                return entry_id
        return None

    def forget(self) -> None:
        """Start anew: the run is over."""
        self._entries.clear()
