"""What a session has cost so far, over all entries of the file (session format, section 14)."""

from __future__ import annotations

from msgspec import Struct

from piolet.llm.messages import Usage


class Totals(Struct):
    """Counts of messages, tokens, and US dollars. Reasoning and long cache writes are parts, never added again."""

    messages: int = 0
    user_messages: int = 0
    assistant_messages: int = 0
    tool_results: int = 0
    tool_calls: int = 0
    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cost: float = 0

    @property
    def tokens(self) -> int:
        """All tokens, cached ones too."""
        return self.input + self.output + self.cache_read + self.cache_write

    def merge(self, other: Totals) -> None:
        """Count what another sum has counted."""
        for name in self.__struct_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def add(self, usage: Usage) -> None:
        """Count the usage of one more entry."""
        self.input += usage.input
        self.output += usage.output
        self.cache_read += usage.cache_read
        self.cache_write += usage.cache_write
        self.cost += usage.cost.total
