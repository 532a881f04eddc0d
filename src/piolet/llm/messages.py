"""The records of a conversation: content blocks, the three messages that models know, usage.

Frozen msgspec Structs, camelCase in JSON, tagged by ``type`` (blocks) or ``role`` (messages). The tags are class
variables, so that ``match`` and mypy narrow by them. A field without default is always written; one that is None is
left out. Strict decoding is here; `piolet.llm.normalize` takes what it refuses.

Modules of records that are decoded at every start do without ``from __future__ import annotations``: msgspec would have
to compile each annotation, which takes longer than a small file does.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

from msgspec import Struct, field

StopReason: TypeAlias = Literal["pending", "stop", "length", "toolUse", "error", "aborted", "deferred"]
ThinkingLevel: TypeAlias = Literal["off", "minimal", "low", "medium", "high", "xhigh", "max"]
THINKING_LEVELS: tuple[ThinkingLevel, ...] = ("off", "minimal", "low", "medium", "high", "xhigh", "max")


class Record(Struct, frozen=True, rename="camel", omit_defaults=True, gc=False):
    """Base of all records that reach files or the wire. They hold no cycles, so the collector need not walk them."""


# ---------------------------------------------------------------------------------------------------- content blocks


class TextContent(Record, frozen=True, tag_field="type", tag="text"):
    type: ClassVar[Literal["text"]] = "text"
    text: str
    text_signature: str | None = None


class ThinkingContent(Record, frozen=True, tag_field="type", tag="thinking"):
    """Reasoning. The signature is opaque and goes back verbatim; `redacted` reasoning has no readable text."""

    type: ClassVar[Literal["thinking"]] = "thinking"
    thinking: str
    thinking_signature: str | None = None
    redacted: bool | None = None


class ImageContent(Record, frozen=True, tag_field="type", tag="image"):
    """`data` is base64."""

    type: ClassVar[Literal["image"]] = "image"
    data: str
    mime_type: str


class ToolCall(Record, frozen=True, tag_field="type", tag="toolCall"):
    """A call that the model asks for. `arguments_error`: the text was no JSON object, and `arguments` is empty."""

    type: ClassVar[Literal["toolCall"]] = "toolCall"
    id: str
    name: str
    arguments: dict[str, Any]
    thought_signature: str | None = None
    namespace: str | None = None
    arguments_error: str | None = None


class OpaqueBlock:
    """A block of a type that we do not know. It is kept as it was read and never sent to a model."""

    __slots__ = ("raw",)

    def __init__(self, raw: Mapping[str, Any]) -> None:
        self.raw = raw

    @property
    def type(self) -> str:
        return str(self.raw.get("type", ""))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OpaqueBlock) and self.raw == other.raw

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"OpaqueBlock({self.raw!r})"


if TYPE_CHECKING:
    UserBlock: TypeAlias = TextContent | ImageContent | OpaqueBlock
    AssistantBlock: TypeAlias = TextContent | ThinkingContent | ToolCall | OpaqueBlock
else:  # the strict decoder knows tagged Structs only; the normaliser makes the opaque ones
    UserBlock = TextContent | ImageContent
    AssistantBlock = TextContent | ThinkingContent | ToolCall


# ------------------------------------------------------------------------------------------------------------- usage


class Cost(Record, frozen=True):
    """US dollars. `total_from_provider`: the provider told the total itself."""

    input: int | float
    output: int | float
    cache_read: int | float
    cache_write: int | float
    total: int | float
    total_from_provider: bool | None = None


NO_COST = Cost(0, 0, 0, 0, 0)


class Usage(Record, frozen=True):
    """Tokens. `input` excludes cached tokens; `reasoning` is part of `output`, `cache_write_1h` of `cache_write`."""

    input: int
    output: int
    cache_read: int
    cache_write: int
    total_tokens: int
    cost: Cost
    cache_write_1h: int | None = field(default=None, name="cacheWrite1h")
    reasoning: int | None = None


NO_USAGE = Usage(0, 0, 0, 0, 0, NO_COST)


# ---------------------------------------------------------------------------------------------------------- messages


class BaseMessage(Record, frozen=True, tag_field="role"):
    """What every message has, also those of higher floors. `timestamp` is Unix milliseconds."""

    role: ClassVar[str]


class UserMessage(BaseMessage, frozen=True, tag="user"):
    role: ClassVar[Literal["user"]] = "user"
    content: str | Sequence[UserBlock]
    timestamp: int


class AssistantMessage(BaseMessage, frozen=True, tag="assistant"):
    """One answer. `timestamp` is the start of the request, `duration_ms` the time to its end."""

    role: ClassVar[Literal["assistant"]] = "assistant"
    content: Sequence[AssistantBlock]
    api: str
    provider: str
    model: str
    usage: Usage
    stop_reason: StopReason
    timestamp: int
    response_model: str | None = None
    response_id: str | None = None
    thinking_level: str | None = None
    provider_thinking_level: str | None = None
    diagnostics: Sequence[dict[str, Any]] | None = None
    raw_stop_reason: str | None = None
    error_message: str | None = None
    end_turn: bool | None = None
    deferred: dict[str, Any] | None = None
    duration_ms: int | None = None

    @property
    def text(self) -> str:
        """The text blocks, joined without separator."""
        return "".join(block.text for block in self.content if isinstance(block, TextContent))

    @property
    def tool_calls(self) -> list[ToolCall]:
        return [block for block in self.content if isinstance(block, ToolCall)]


class ToolResultMessage(BaseMessage, frozen=True, tag="toolResult"):
    role: ClassVar[Literal["toolResult"]] = "toolResult"
    tool_call_id: str
    tool_name: str
    content: Sequence[UserBlock]
    is_error: bool
    timestamp: int
    details: Any = None
    usage: Usage | None = None
    nested_calls: dict[str, Any] | None = None
    duration_ms: int | None = None


Message: TypeAlias = UserMessage | AssistantMessage | ToolResultMessage


def text(value: str) -> TextContent:
    """Return `value` as a text block."""
    return TextContent(value)


def image(data: str, mime_type: str) -> ImageContent:
    """Return base64 `data` as an image block."""
    return ImageContent(data, mime_type)


def text_of(content: str | Sequence[object], separator: str = "") -> str:
    """Return the text of message content: the string itself, or its text blocks joined by `separator`."""
    if isinstance(content, str):
        return content
    return separator.join(block.text for block in content if isinstance(block, TextContent))
