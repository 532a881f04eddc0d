"""The events of one streamed answer, the same for every wire protocol.

Order: ``start`` once, then for each content index one start, any deltas, one end (blocks may interleave), then exactly
one terminal event: ``done`` or ``error``. A request that fails early may be a lone ``error``.
"""

from __future__ import annotations

from typing import ClassVar, Literal, TypeAlias

from piolet.llm.messages import AssistantMessage, Record, ToolCall


class StartEvent(Record, frozen=True, tag_field="type", tag="start"):
    type: ClassVar[Literal["start"]] = "start"


class TextStart(Record, frozen=True, tag_field="type", tag="text_start"):
    type: ClassVar[Literal["text_start"]] = "text_start"
    content_index: int


class TextDelta(Record, frozen=True, tag_field="type", tag="text_delta"):
    type: ClassVar[Literal["text_delta"]] = "text_delta"
    content_index: int
    delta: str


class TextEnd(Record, frozen=True, tag_field="type", tag="text_end"):
    """`content` is authoritative: it may correct the sum of the deltas."""

    type: ClassVar[Literal["text_end"]] = "text_end"
    content_index: int
    content: str


class ThinkingStart(Record, frozen=True, tag_field="type", tag="thinking_start"):
    type: ClassVar[Literal["thinking_start"]] = "thinking_start"
    content_index: int


class ThinkingDelta(Record, frozen=True, tag_field="type", tag="thinking_delta"):
    type: ClassVar[Literal["thinking_delta"]] = "thinking_delta"
    content_index: int
    delta: str


class ThinkingEnd(Record, frozen=True, tag_field="type", tag="thinking_end"):
    type: ClassVar[Literal["thinking_end"]] = "thinking_end"
    content_index: int
    content: str


class ToolCallStart(Record, frozen=True, tag_field="type", tag="toolcall_start"):
    type: ClassVar[Literal["toolcall_start"]] = "toolcall_start"
    content_index: int
    id: str | None = None
    tool_name: str | None = None


class ToolCallDelta(Record, frozen=True, tag_field="type", tag="toolcall_delta"):
    """`delta` is a piece of the JSON text of the arguments; the first may be empty."""

    type: ClassVar[Literal["toolcall_delta"]] = "toolcall_delta"
    content_index: int
    delta: str


class ToolCallEnd(Record, frozen=True, tag_field="type", tag="toolcall_end"):
    type: ClassVar[Literal["toolcall_end"]] = "toolcall_end"
    content_index: int
    tool_call: ToolCall


class DoneEvent(Record, frozen=True, tag_field="type", tag="done"):
    type: ClassVar[Literal["done"]] = "done"
    reason: Literal["stop", "length", "toolUse", "deferred"]
    message: AssistantMessage


class ErrorEvent(Record, frozen=True, tag_field="type", tag="error"):
    type: ClassVar[Literal["error"]] = "error"
    reason: Literal["error", "aborted"]
    error: AssistantMessage


AssistantEvent: TypeAlias = (
    StartEvent
    | TextStart
    | TextDelta
    | TextEnd
    | ThinkingStart
    | ThinkingDelta
    | ThinkingEnd
    | ToolCallStart
    | ToolCallDelta
    | ToolCallEnd
    | DoneEvent
    | ErrorEvent
)
