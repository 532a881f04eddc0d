"""An Agent with a scripted model, and its events as lines that read like the specification."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from piolet.agent.agent import Agent
from piolet.agent.events import (
    AgentEvent,
    MessageEnd,
    MessageStart,
    MessageUpdate,
    QueueUpdate,
    ToolExecutionEnd,
    ToolExecutionStart,
    ToolExecutionUpdate,
    TurnEnd,
    TurnStart,
)
from piolet.agent.loop import LoopConfig
from piolet.agent.tools import AgentTool, Execute, OnUpdate, ToolResult
from piolet.base.abort import AbortSignal
from piolet.llm.messages import AssistantMessage, BaseMessage, Message, ToolResultMessage, UserMessage, text_of
from tests.support.scripted_model import MODEL, Reply, ScriptedModel

SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}}


def tool(name: str, execute: Execute, **more: Any) -> AgentTool:
    return AgentTool(name, f"Does {name}.", more.pop("parameters", SCHEMA), execute, **more)


async def _echo(id: str, arguments: dict[str, Any], signal: AbortSignal, on_update: OnUpdate) -> ToolResult:
    return ToolResult.of_text(str(arguments.get("text", "ok")))


ECHO = tool("echo", _echo)


def as_they_are(messages: Sequence[BaseMessage]) -> Sequence[Message]:
    return [message for message in messages if isinstance(message, UserMessage | AssistantMessage | ToolResultMessage)]


class Conversation:
    """The agent, its model, and what it told: `events`, and `lines` of them."""

    def __init__(self, *replies: Reply | ScriptedModel, tools: Sequence[AgentTool] = (ECHO,), **config: Any) -> None:
        first = replies[0] if replies else None
        self.model = first if isinstance(first, ScriptedModel) else ScriptedModel(*replies)  # type: ignore[arg-type]
        agent = {name: config.pop(name) for name in ("system_prompt", "messages", "emit", "on_error") if name in config}
        self.events: list[AgentEvent] = []
        self.errors: list[tuple[str, str]] = []
        agent.setdefault("on_error", lambda event, error: self.errors.append((event.type, str(error))))
        config.setdefault("convert_to_llm", as_they_are)
        self.agent = Agent(LoopConfig(model=MODEL, stream=self.model, **config), tools=tools, **agent)
        self.agent.subscribe(self.events.append)

    @property
    def lines(self) -> list[str]:
        return [line(event) for event in self.events]

    @property
    def outline(self) -> list[str]:
        """The lines without those of streaming."""
        return [line for line in self.lines if not line.startswith("update")]

    @property
    def last(self) -> AssistantMessage:
        message = self.agent.messages[-1]
        assert isinstance(message, AssistantMessage)
        return message

    def results(self) -> list[str]:
        """The texts of the tool results, in the order of the context."""
        return [text_of(m.content) for m in self.agent.messages if isinstance(m, ToolResultMessage)]


def line(event: AgentEvent) -> str:
    match event:
        case TurnStart(turn_index=index):
            return f"turn_start {index}"
        case MessageStart(message=message):
            return f"start {_named(message)}"
        case MessageUpdate(assistant_message_event=inner):
            return f"update {inner.type}"
        case MessageEnd(message=message):
            return f"end {_named(message)}"
        case ToolExecutionStart(tool_call_id=id):
            return f"run {id}"
        case ToolExecutionUpdate(tool_call_id=id, partial_result=result):
            return f"progress {id}: {text_of(result.content)}"
        case ToolExecutionEnd(tool_call_id=id, is_error=failed):
            return f"ran {id}{' (error)' if failed else ''}"
        case TurnEnd(turn_index=index, tool_results=results):
            return f"turn_end {index}" + (f" ({len(results)} results)" if results else "")
        case QueueUpdate(steering=steering, follow_up=follow_up):
            return f"queue {[_text(m) for m in steering]} {[_text(m) for m in follow_up]}"
        case _:
            return event.type


def _named(message: BaseMessage) -> str:
    match message:
        case UserMessage():
            return f"user {_text(message)}"
        case AssistantMessage(stop_reason=reason):
            return f"assistant {reason}"
        case ToolResultMessage(tool_call_id=id):
            return f"result {id}"
        case _:
            return message.role


def _text(message: BaseMessage) -> str:
    return text_of(getattr(message, "content", ""))


def check_context(messages: Sequence[BaseMessage]) -> None:
    """Fail unless every provider accepts `messages` once the failed answers are taken out: each call is answered once,
    directly behind its answer and in call order; no result is without its call; answers do not follow each other."""
    kept = [m for m in messages if not (isinstance(m, AssistantMessage) and m.stop_reason in ("error", "aborted"))]
    position = 0
    previous: BaseMessage | None = None
    while position < len(kept):
        message = kept[position]
        assert not isinstance(message, ToolResultMessage), f"result without its call: {message}"
        if isinstance(message, AssistantMessage):
            assert message.stop_reason != "pending", "an answer that never ended"
            assert previous is not None, "the context begins with an answer"
            assert not isinstance(previous, AssistantMessage), "two answers in a row"
            wanted = [call.id for call in message.tool_calls]
            results = kept[position + 1 : position + 1 + len(wanted)]
            assert [getattr(result, "tool_call_id", None) for result in results] == wanted
            position += len(wanted)
            message = results[-1] if results else message
        previous = message
        position += 1


#: Event: the state it needs, the state afterwards.
_NESTING = {
    "agent_start": ("idle", "run"),
    "turn_start": ("run", "turn"),
    "message_start": ("turn", "message"),
    "message_update": ("message", "message"),
    "message_end": ("message", "turn"),
    "tool_execution_start": ("turn", "turn"),
    "tool_execution_update": ("turn", "turn"),
    "tool_execution_end": ("turn", "turn"),
    "turn_end": ("turn", "run"),
    "agent_end": ("run", "idle"),
}


def check_events(events: Sequence[AgentEvent]) -> None:
    """Fail unless starts and ends pair up and nest as the protocol says."""
    state = "idle"
    executing: list[str] = []
    for event in events:
        if isinstance(event, QueueUpdate):
            continue
        needed, after = _NESTING[event.type]
        assert state == needed, f"{event.type} inside of {state}"
        state = after
        match event:
            case ToolExecutionStart(tool_call_id=id):
                executing.append(id)
            case ToolExecutionUpdate(tool_call_id=id):
                assert id in executing
            case ToolExecutionEnd(tool_call_id=id):
                executing.remove(id)
            case MessageStart() | TurnEnd():
                assert not executing, f"{event.type} while {executing} execute"
            case _:
                pass
    assert state == "idle", f"the events end inside of {state}"
