"""The records of a session file: the header and one Struct per entry type (session format, sections 3 and 4).

camelCase on disk, tagged by ``type``. A field without default is always written; one that is None is left out.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

from piolet.harness.messages import (
    BashExecutionMessage,
    CustomMessage,
    KnownMessage,
    OpaqueMessage,
    SystemMessage,
)
from piolet.llm.messages import (
    AssistantMessage,
    ImageContent,
    OpaqueBlock,
    Record,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    Usage,
    UserBlock,
    UserMessage,
)

VERSION = 3

if TYPE_CHECKING:
    StoredMessage: TypeAlias = KnownMessage | OpaqueMessage
    AnyBlock: TypeAlias = TextContent | ImageContent | ThinkingContent | ToolCall | OpaqueBlock
else:  # what the strict decoder knows; the tolerant one makes the opaque ones
    StoredMessage = (
        UserMessage | AssistantMessage | ToolResultMessage | CustomMessage | BashExecutionMessage | SystemMessage
    )
    AnyBlock = TextContent | ImageContent | ThinkingContent | ToolCall


class Header(Record, frozen=True, tag_field="type", tag="session"):
    """The first line. `timestamp` and `cwd` may be absent in old files; `parent_session` is a path."""

    type: ClassVar[Literal["session"]] = "session"
    version: int
    id: str
    timestamp: str | None = None
    cwd: str | None = None
    parent_session: str | None = None


class BaseEntry(Record, frozen=True, tag_field="type"):
    """What every entry has. `timestamp` is ISO 8601 with milliseconds and ``Z``; a root has no `parent_id`."""

    type: ClassVar[str]
    id: str
    parent_id: str | None
    timestamp: str


class MessageEntry(BaseEntry, frozen=True, tag="message"):
    type: ClassVar[Literal["message"]] = "message"
    message: StoredMessage


class ModelChangeEntry(BaseEntry, frozen=True, tag="model_change"):
    type: ClassVar[Literal["model_change"]] = "model_change"
    provider: str
    model_id: str


class ThinkingLevelChangeEntry(BaseEntry, frozen=True, tag="thinking_level_change"):
    type: ClassVar[Literal["thinking_level_change"]] = "thinking_level_change"
    thinking_level: str


class CompactionEntry(BaseEntry, frozen=True, tag="compaction"):
    """`first_kept_entry_id` equal to the own id: nothing older is kept. `from_hook`: an extension made it."""

    type: ClassVar[Literal["compaction"]] = "compaction"
    summary: str
    tokens_before: int
    first_kept_entry_id: str | None = None
    details: Any = None
    usage: Usage | None = None
    from_hook: bool | None = None
    system_message: SystemMessage | None = None


class BranchSummaryEntry(BaseEntry, frozen=True, tag="branch_summary"):
    """`from_id`: the leaf that was left, ``"root"`` if there was none."""

    type: ClassVar[Literal["branch_summary"]] = "branch_summary"
    from_id: str
    summary: str
    details: Any = None
    usage: Usage | None = None
    from_hook: bool | None = None


class CustomEntry(BaseEntry, frozen=True, tag="custom"):
    """State of an extension or embedder; the model never sees it."""

    type: ClassVar[Literal["custom"]] = "custom"
    custom_type: str
    data: Any = None


class CustomMessageEntry(BaseEntry, frozen=True, tag="custom_message"):
    """A message of an extension or embedder; the model sees it, `display` says whether people do."""

    type: ClassVar[Literal["custom_message"]] = "custom_message"
    custom_type: str
    content: str | Sequence[UserBlock]
    display: bool
    details: Any = None


class LabelEntry(BaseEntry, frozen=True, tag="label"):
    """An absent or empty `label` clears."""

    type: ClassVar[Literal["label"]] = "label"
    target_id: str
    label: str | None = None


class SessionInfoEntry(BaseEntry, frozen=True, tag="session_info"):
    """An absent or empty `name` clears."""

    type: ClassVar[Literal["session_info"]] = "session_info"
    name: str | None = None


class UsageEntry(BaseEntry, frozen=True, tag="usage"):
    """Model work outside of messages; `kind` is free."""

    type: ClassVar[Literal["usage"]] = "usage"
    kind: str
    provider: str
    model: str
    usage: Usage
    note: str | None = None


class Replacement(Record, frozen=True):
    content: str | Sequence[AnyBlock]


class ContextEditEntry(BaseEntry, frozen=True, tag="context_edit"):
    """Changes what the model sees of the target: other content, or nothing (None)."""

    type: ClassVar[Literal["context_edit"]] = "context_edit"
    target_id: str
    replacement: Replacement | None


class OpaqueEntry:
    """An entry of a type that we do not know, or one that nothing could repair: kept as it was read."""

    __slots__ = ("id", "parent_id", "raw", "timestamp", "type")

    def __init__(self, raw: Mapping[str, Any], timestamp: str) -> None:
        parent = raw.get("parentId")
        self.raw = raw
        self.type = str(raw.get("type", ""))
        self.id = str(raw.get("id", ""))
        self.parent_id = parent if isinstance(parent, str) else None
        self.timestamp = timestamp

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OpaqueEntry) and self.raw == other.raw

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"OpaqueEntry({self.raw!r})"


KnownEntry: TypeAlias = (
    MessageEntry
    | ModelChangeEntry
    | ThinkingLevelChangeEntry
    | CompactionEntry
    | BranchSummaryEntry
    | CustomEntry
    | CustomMessageEntry
    | LabelEntry
    | SessionInfoEntry
    | UsageEntry
    | ContextEditEntry
)
Entry: TypeAlias = KnownEntry | OpaqueEntry
