"""What a session has used so far, and how full the model's window is."""

from __future__ import annotations

from msgspec import Struct

from piolet.harness.session.totals import Totals


class ContextUsage(Struct, frozen=True):
    """How much of the window the context fills. `tokens` is None right after a compaction, when nobody knows."""

    tokens: int | None
    window: int

    @property
    def percent(self) -> float | None:
        return None if self.tokens is None or not self.window else self.tokens / self.window * 100


class SessionStats(Struct, frozen=True):
    """Totals run over the whole file, all branches; `context` is that of the present leaf (None without a model)."""

    id: str
    path: str | None
    totals: Totals
    context: ContextUsage | None
