"""When to compact and how much to keep: policies as data (the compaction specification, sections 1 and 11)."""

from __future__ import annotations

from msgspec import Struct


class CompactionSettings(Struct, frozen=True):
    """Tokens: `reserve_tokens` stay free for the answer, `keep_recent_tokens` are kept as they are."""

    enabled: bool = True
    reserve_tokens: int = 16384
    keep_recent_tokens: int = 20000


class BranchSummarySettings(Struct, frozen=True):
    """`reserve_tokens` of the window are not used for the material. `skip_prompt`: never ask, never summarize."""

    reserve_tokens: int = 16384
    skip_prompt: bool = False


def should_compact(context_tokens: int, context_window: int, settings: CompactionSettings) -> bool:
    """Whether a context of so many tokens leaves less than the reserve free. Never when disabled."""
    return settings.enabled and context_tokens > context_window - settings.reserve_tokens
