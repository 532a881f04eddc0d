"""What happens during an agent run, in the order of the RPC protocol. Events tell; they never change anything."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Literal, TypeAlias

from msgspec import Struct

from piolet.agent.tools import ToolResult
from piolet.llm.events import AssistantEvent
from piolet.llm.messages import AssistantMessage, BaseMessage, ToolResultMessage, Usage


class AgentStart(Struct, frozen=True):
    """An agent run begins; a run may hold several."""

    type: ClassVar[Literal["agent_start"]] = "agent_start"


class TurnStart(Struct, frozen=True):
    """A turn begins: one answer and its tool calls. `turn_index` counts from 0, `timestamp` is Unix milliseconds."""

    type: ClassVar[Literal["turn_start"]] = "turn_start"
    turn_index: int
    timestamp: int


class MessageStart(Struct, frozen=True):
    """A message begins. An assistant message is still empty then, with stop reason "pending"."""

    type: ClassVar[Literal["message_start"]] = "message_start"
    message: BaseMessage


class MessageUpdate(Struct, frozen=True):
    """One event of the stream. `snapshot()` makes the message as it is at the time of the call, `usage()` its usage."""

    type: ClassVar[Literal["message_update"]] = "message_update"
    assistant_message_event: AssistantEvent
    snapshot: Callable[[], AssistantMessage]

    @property
    def message(self) -> AssistantMessage:
        return self.snapshot()

    @property
    def usage(self) -> Usage:
        return self.snapshot().usage


class MessageEnd(Struct, frozen=True):
    type: ClassVar[Literal["message_end"]] = "message_end"
    message: BaseMessage


class ToolExecutionStart(Struct, frozen=True):
    """A call begins. `parent_tool_call_id`: the call during which a tool made this one; None: the model made it."""

    type: ClassVar[Literal["tool_execution_start"]] = "tool_execution_start"
    tool_call_id: str
    tool_name: str
    args: dict[str, Any]
    parent_tool_call_id: str | None = None


class ToolExecutionUpdate(Struct, frozen=True):
    """A call tells how far it is. `partial_result` is the whole result so far."""

    type: ClassVar[Literal["tool_execution_update"]] = "tool_execution_update"
    tool_call_id: str
    tool_name: str
    args: dict[str, Any]
    partial_result: ToolResult
    parent_tool_call_id: str | None = None


class ToolExecutionEnd(Struct, frozen=True):
    """A call is over."""

    type: ClassVar[Literal["tool_execution_end"]] = "tool_execution_end"
    tool_call_id: str
    tool_name: str
    result: ToolResult
    is_error: bool
    duration_ms: int
    parent_tool_call_id: str | None = None


class TurnEnd(Struct, frozen=True):
    type: ClassVar[Literal["turn_end"]] = "turn_end"
    message: AssistantMessage
    tool_results: Sequence[ToolResultMessage]
    turn_index: int


class AgentEnd(Struct, frozen=True):
    """An agent run is over; `messages` are all of it. `will_retry`: another agent run follows by itself."""

    type: ClassVar[Literal["agent_end"]] = "agent_end"
    messages: Sequence[BaseMessage]
    will_retry: bool = False


class QueueUpdate(Struct, frozen=True):
    """The queues changed; both are given whole."""

    type: ClassVar[Literal["queue_update"]] = "queue_update"
    steering: Sequence[BaseMessage]
    follow_up: Sequence[BaseMessage]


AgentEvent: TypeAlias = (
    AgentStart
    | TurnStart
    | MessageStart
    | MessageUpdate
    | MessageEnd
    | ToolExecutionStart
    | ToolExecutionUpdate
    | ToolExecutionEnd
    | TurnEnd
    | AgentEnd
    | QueueUpdate
)
