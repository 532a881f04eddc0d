"""Which blocks of the transcript show which message: what stays when a session is shown anew keeps its blocks.

So what was printed into a terminal's scrollback is not printed again, and what was drawn need not be drawn again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from piolet.llm.messages import AssistantMessage, BaseMessage
from piolet.modes.interactive.tool_block import ToolBlock
from piolet.tui.transcript import TranscriptBlock


class ShownMessages:
    """Finds the blocks of a message by what it says."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, int], list[tuple[BaseMessage, list[TranscriptBlock]]]] = {}

    def note(self, message: BaseMessage, blocks: Iterable[TranscriptBlock]) -> None:
        """Take note that `blocks` show `message`."""
        self._known.setdefault(_key(message), []).append((message, list(blocks)))

    def blocks_of(self, message: BaseMessage) -> Sequence[TranscriptBlock] | None:
        """Return the blocks that show an equal message; None if there are none, or a call of it has no result yet."""
        for known, blocks in self._known.get(_key(message), ()):
            if known == message:
                return None if any(isinstance(block, ToolBlock) and not block.done for block in blocks) else blocks
        return None


def _key(message: BaseMessage) -> tuple[str, int]:
    return message.role, getattr(message, "timestamp", 0)


def calls_of(message: BaseMessage) -> set[str]:
    """Return the ids of the calls in a message."""
    return {call.id for call in message.tool_calls} if isinstance(message, AssistantMessage) else set()
