"""What a harness tells besides the events of its agent. Events come after storing and change nothing."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, TypeAlias

from msgspec import Struct

from piolet.agent.events import AgentEvent
from piolet.llm.messages import ThinkingLevel, Usage
from piolet.llm.model import Model

CompactionReason: TypeAlias = Literal["manual", "threshold", "overflow"]


class AgentSettled(Struct, frozen=True):
    """Nothing more happens by itself."""

    type: ClassVar[Literal["agent_settled"]] = "agent_settled"
    aborted: bool


class AutoRetryStart(Struct, frozen=True):
    """A failed request is tried again after `delay_ms`; `attempt` counts from 1."""

    type: ClassVar[Literal["auto_retry_start"]] = "auto_retry_start"
    attempt: int
    max_attempts: int
    delay_ms: int
    error_message: str


class AutoRetryEnd(Struct, frozen=True):
    type: ClassVar[Literal["auto_retry_end"]] = "auto_retry_end"
    success: bool
    attempt: int
    final_error: str | None = None


class CompactionResult(Struct, frozen=True):
    """What a compaction gave. `estimated_tokens_after`: plain sum of estimates of the new context."""

    summary: str
    first_kept_entry_id: str
    tokens_before: int
    estimated_tokens_after: int
    usage: Usage | None = None
    details: Any = None


class CompactionStart(Struct, frozen=True):
    type: ClassVar[Literal["compaction_start"]] = "compaction_start"
    reason: CompactionReason


class CompactionEnd(Struct, frozen=True):
    type: ClassVar[Literal["compaction_end"]] = "compaction_end"
    reason: CompactionReason
    result: CompactionResult | None
    aborted: bool
    will_retry: bool
    error_message: str | None = None


class SummarizationRetryScheduled(Struct, frozen=True):
    type: ClassVar[Literal["summarization_retry_scheduled"]] = "summarization_retry_scheduled"
    attempt: int
    max_attempts: int
    delay_ms: int
    error_message: str


class SummarizationRetryAttemptStart(Struct, frozen=True):
    type: ClassVar[Literal["summarization_retry_attempt_start"]] = "summarization_retry_attempt_start"
    source: Literal["compaction", "branchSummary"]
    reason: CompactionReason | None = None


class SummarizationRetryFinished(Struct, frozen=True):
    type: ClassVar[Literal["summarization_retry_finished"]] = "summarization_retry_finished"


class EntryAppended(Struct, frozen=True):
    """An entry that no other event tells of: custom state, a context edit."""

    type: ClassVar[Literal["entry_appended"]] = "entry_appended"
    entry: Any


class SessionInfoChanged(Struct, frozen=True):
    """The session has another name, or none."""

    type: ClassVar[Literal["session_info_changed"]] = "session_info_changed"
    name: str | None


class ModelSelect(Struct, frozen=True):
    """The model changed. Not on the wire."""

    type: ClassVar[Literal["model_select"]] = "model_select"
    model: Model
    previous_model: Model | None
    source: Literal["set", "cycle", "restore"]


class ThinkingLevelSelect(Struct, frozen=True):
    """The effective thinking level changed; on the wire ``thinking_level_changed``."""

    type: ClassVar[Literal["thinking_level_select"]] = "thinking_level_select"
    level: ThinkingLevel
    previous_level: ThinkingLevel


class SessionTree(Struct, frozen=True):
    """The leaf moved."""

    type: ClassVar[Literal["session_tree"]] = "session_tree"
    new_leaf_id: str | None
    old_leaf_id: str | None
    summary_entry: Any = None
    from_extension: bool = False


class SessionCompact(Struct, frozen=True):
    """A compaction is stored. `from_extension`: an extension wrote the summary."""

    type: ClassVar[Literal["session_compact"]] = "session_compact"
    compaction_entry: Any
    from_extension: bool
    reason: CompactionReason
    will_retry: bool


class SessionCompactFailed(Struct, frozen=True):
    """A compaction came to nothing: it failed or was aborted."""

    type: ClassVar[Literal["session_compact_failed"]] = "session_compact_failed"
    reason: CompactionReason
    error_message: str | None
    aborted: bool
    will_retry: bool
    from_extension: bool


HarnessEvent: TypeAlias = (
    AgentEvent
    | AgentSettled
    | AutoRetryStart
    | AutoRetryEnd
    | CompactionStart
    | CompactionEnd
    | SummarizationRetryScheduled
    | SummarizationRetryAttemptStart
    | SummarizationRetryFinished
    | EntryAppended
    | SessionInfoChanged
    | ModelSelect
    | ThinkingLevelSelect
    | SessionTree
    | SessionCompact
    | SessionCompactFailed
)
