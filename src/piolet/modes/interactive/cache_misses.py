"""What a provider's prompt cache held and did not give back: it is paid for again, and some want to know."""

from __future__ import annotations

from piolet.llm.messages import AssistantMessage
from piolet.tui.blocks.footer import count

LEAST = 1024  # tokens; smaller beginnings of prompts are not cached
_MINUTES = 5  # the shortest time for which caches are kept


class CacheMisses:
    """Compares the usage of each answer with that of the one before."""

    def __init__(self) -> None:
        self._model = ("", "")
        self._held = 0
        self._at = 0

    def forget(self) -> None:
        """The context is another one: nothing of it was cached."""
        self._held = 0

    def judge(self, answer: AssistantMessage) -> str | None:
        """Return what to say of an answer, None if its cache gave what it held. Each model has a cache of its own."""
        usage, model = answer.usage, (answer.provider, answer.model)
        if not (usage.input or usage.cache_read or usage.cache_write):  # it failed before anything was counted
            return None
        missed = self._held - usage.cache_read if model == self._model else 0
        minutes = (answer.timestamp - self._at) // 60_000
        self._model, self._held, self._at = model, usage.cache_read + usage.cache_write, answer.timestamp
        if missed < LEAST:
            return None
        why = f", {minutes} minutes after the last request" if minutes >= _MINUTES else ""
        return f"Cache miss: {count(missed)} cached tokens were sent again{why}"
