"""Messages that wait for their moment in a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from piolet.llm.messages import BaseMessage

QueueMode: TypeAlias = Literal["all", "one-at-a-time"]


class MessageQueue:
    """First in, first out. A message leaves when it is delivered, not when it is asked for: an abort loses nothing."""

    def __init__(self, mode: QueueMode = "one-at-a-time") -> None:
        self.mode: QueueMode = mode
        self._messages: list[BaseMessage] = []
        self._promised = 0

    def put(self, message: BaseMessage) -> None:
        self._messages.append(message)

    def due(self) -> Sequence[BaseMessage]:
        """Return what is to be delivered next, by the mode. It is promised to the run: `clear` leaves it in."""
        self._promised = len(self._messages) if self.mode == "all" else min(1, len(self._messages))
        return tuple(self._messages[: self._promised])

    def delivered(self, message: BaseMessage) -> bool:
        """Take `message` (that very object) out; return whether it was in."""
        for index, waiting in enumerate(self._messages):
            if waiting is message:
                del self._messages[index]
                self._promised = max(0, self._promised - 1)
                return True
        return False

    def release(self) -> None:
        """The run is over: what was promised to it and not delivered waits like the rest."""
        self._promised = 0

    def clear(self) -> list[BaseMessage]:
        """Empty the queue and return what was in it."""
        messages, self._messages = self._messages[self._promised :], self._messages[: self._promised]
        return messages

    def snapshot(self) -> Sequence[BaseMessage]:
        return tuple(self._messages)

    def __len__(self) -> int:
        return len(self._messages)
