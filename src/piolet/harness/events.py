"""What a harness tells besides the events of its agent. Events come after storing and change nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias

from piolet.agent.events import AgentEvent
from piolet.llm.messages import ThinkingLevel, Usage
from piolet.llm.model import Model

CompactionReason: TypeAlias = Literal["manual", "threshold", "overflow"]


@dataclass(frozen=True, slots=True)
class AgentSettled:
    """Nothing more happens by itself."""

    type: ClassVar[Literal["agent_settled"]] = "agent_settled"
    aborted: bool


@dataclass(frozen=True, slots=True)
class AutoRetryStart:
    """A failed request is tried again after `delay_ms`; `attempt` counts from 1."""

    type: ClassVar[Literal["auto_retry_start"]] = "auto_retry_start"
    attempt: int
    max_attempts: int
    delay_ms: int
    error_message: str


@dataclass(frozen=True, slots=True)
class AutoRetryEnd:
    type: ClassVar[Literal["auto_retry_end"]] = "auto_retry_end"
    success: bool
    attempt: int
    final_error: str | None = None


@dataclass(frozen=True, slots=True)
class CompactionResult:
    """What a compaction gave. `estimated_tokens_after`: plain sum of estimates of the new context."""

    summary: str
    first_kept_entry_id: str
    tokens_before: int
    estimated_tokens_after: int
    usage: Usage | None = None
    details: Any = None


@dataclass(frozen=True, slots=True)
class CompactionStart:
    type: ClassVar[Literal["compaction_start"]] = "compaction_start"
    reason: CompactionReason


@dataclass(frozen=True, slots=True)
class CompactionEnd:
    type: ClassVar[Literal["compaction_end"]] = "compaction_end"
    reason: CompactionReason
    result: CompactionResult | None
    aborted: bool
    will_retry: bool
    error_message: str | None = None


@dataclass(frozen=True, slots=True)
class SummarizationRetryScheduled:
    type: ClassVar[Literal["summarization_retry_scheduled"]] = "summarization_retry_scheduled"
    attempt: int
    max_attempts: int
    delay_ms: int
    error_message: str


@dataclass(frozen=True, slots=True)
class SummarizationRetryAttemptStart:
    type: ClassVar[Literal["summarization_retry_attempt_start"]] = "summarization_retry_attempt_start"
    source: Literal["compaction", "branchSummary"]
    reason: CompactionReason | None = None


@dataclass(frozen=True, slots=True)
class SummarizationRetryFinished:
    type: ClassVar[Literal["summarization_retry_finished"]] = "summarization_retry_finished"


@dataclass(frozen=True, slots=True)
class EntryAppended:
    """An entry that no other event tells of: custom state, a context edit."""

    type: ClassVar[Literal["entry_appended"]] = "entry_appended"
    entry: Any


@dataclass(frozen=True, slots=True)
class SessionInfoChanged:
    type: ClassVar[Literal["session_info_changed"]] = "session_info_changed"
    name: str | None


@dataclass(frozen=True, slots=True)
class ModelSelect:
    """The model changed. Not on the wire."""

    type: ClassVar[Literal["model_select"]] = "model_select"
    model: Model
    previous_model: Model | None
    source: Literal["set", "cycle", "restore"]


@dataclass(frozen=True, slots=True)
class ThinkingLevelSelect:
    """The effective thinking level changed; on the wire ``thinking_level_changed``."""

    type: ClassVar[Literal["thinking_level_select"]] = "thinking_level_select"
    level: ThinkingLevel
    previous_level: ThinkingLevel


@dataclass(frozen=True, slots=True)
class SessionTree:
    """The leaf moved."""

    type: ClassVar[Literal["session_tree"]] = "session_tree"
    new_leaf_id: str | None
    old_leaf_id: str | None
    summary_entry: Any = None
    from_extension: bool = False


@dataclass(frozen=True, slots=True)
class SessionCompact:
    type: ClassVar[Literal["session_compact"]] = "session_compact"
    compaction_entry: Any
    from_extension: bool
    reason: CompactionReason
    will_retry: bool


@dataclass(frozen=True, slots=True)
class SessionCompactFailed:
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
