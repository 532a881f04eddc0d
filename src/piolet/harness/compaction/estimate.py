"""How many tokens the context is about (the compaction specification, section 2). Lengths are UTF-16 code units."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import Struct

from piolet.base.json import dumps
from piolet.harness.messages import (
    AgentMessage,
    BashExecutionMessage,
    BranchSummaryMessage,
    CompactionSummaryMessage,
    CustomMessage,
    SystemMessage,
)
from piolet.harness.session.context import build_context
from piolet.harness.session.entries import Entry
from piolet.llm.estimate import assistant_chars, content_chars, tokens_of_chars, usage_tokens, utf16_length
from piolet.llm.messages import AssistantMessage, BaseMessage, ToolResultMessage, Usage, UserMessage, text_of
from piolet.llm.model import ToolSpec


class ContextEstimate(Struct, frozen=True):
    """`usage_tokens` were told by a provider, with the message at `last_usage_index`; the rest is estimated."""

    tokens: int
    usage_tokens: int
    trailing_tokens: int
    last_usage_index: int | None


def message_tokens(message: BaseMessage | AgentMessage) -> int:
    """Return about how many tokens one message is; 0 for an unknown one."""
    return tokens_of_chars(_chars(message))


def _chars(message: BaseMessage | AgentMessage) -> int:
    match message:
        case UserMessage() | ToolResultMessage() | CustomMessage():
            return content_chars(message.content)
        case AssistantMessage():
            return assistant_chars(message)
        case BashExecutionMessage():
            return utf16_length(message.command) + utf16_length(message.output)
        case BranchSummaryMessage() | CompactionSummaryMessage():
            return utf16_length(message.summary)
        case SystemMessage():
            sections = sum(utf16_length(text) for text in (message.sections or {}).values() if text)
            tools = utf16_length(dumps(message.tools_added)) if message.tools_added else 0
            return content_chars(message.content) + sections + tools
        case _:
            return 0


def sum_of_tokens(messages: Iterable[BaseMessage | AgentMessage]) -> int:
    """Return the plain sum of the estimates."""
    return sum(message_tokens(message) for message in messages)


def usable_usage(message: BaseMessage | AgentMessage) -> Usage | None:
    """Return what a provider told of the context with `message`; None if that says nothing."""
    if not isinstance(message, AssistantMessage) or message.stop_reason in ("error", "aborted"):
        return None
    return message.usage if usage_tokens(message.usage) else None


def estimate_context(messages: Sequence[BaseMessage | AgentMessage]) -> ContextEstimate:
    """Estimate a context: the last usage that a provider told, plus what came after it; else everything."""
    for index in range(len(messages) - 1, -1, -1):
        if usage := usable_usage(messages[index]):
            told, trailing = usage_tokens(usage), sum_of_tokens(messages[index + 1 :])
            return ContextEstimate(told + trailing, told, trailing, index)
    total = sum_of_tokens(messages)
    return ContextEstimate(total, 0, total, None)


class Projection(Struct, frozen=True):
    """What the model gets. The first `settled` messages are of entries up to the last compaction or context edit: what
    a provider told with one of them is about another context."""

    messages: Sequence[BaseMessage | AgentMessage]
    settled: int = 0


def estimate_projected(context: Projection, system_prompt: str = "", tools: Sequence[ToolSpec] = ()) -> ContextEstimate:
    """Estimate a context. Without a usage that is about it, everything is estimated, the prompt and the tools too."""
    estimate = estimate_context(context.messages)
    if estimate.last_usage_index is not None and estimate.last_usage_index >= context.settled:
        return estimate
    fixed = tokens_of_chars(utf16_length(system_prompt) + (utf16_length(dumps(list(tools))) if tools else 0))
    total = sum_of_tokens(context.messages) + fixed
    return ContextEstimate(total, 0, total, None)


def project(path: Sequence[Entry]) -> Projection:
    """Return what the model gets at the end of the branch `path`."""
    context = build_context(path)
    others: list[AgentMessage] = [m for m in context.messages if not isinstance(m, SystemMessage)]
    system = [m for m in context.messages if isinstance(m, SystemMessage)]
    settled = sum(not isinstance(m, SystemMessage) for m in context.messages[: context.settled])
    return Projection([_replayed(system), *others], settled + 1) if system else Projection(others, settled)


def _replayed(messages: Sequence[SystemMessage]) -> SystemMessage:
    """Return the system messages of a file of pi as the one prompt that they add up to (session format, section 5)."""
    sections: dict[str, str | None] = {}
    tools: dict[str, Any] = {}
    for message in messages:
        for name, text in (message.sections or {}).items():
            sections.pop(name, None)
            if text is not None:
                sections[name] = text
        for tool in message.tools_removed or ():
            tools.pop(str(tool.get("name")), None)
        tools |= {str(tool.get("name")): tool for tool in message.tools_added or ()}
    contents = [text for message in messages if (text := text_of(message.content))]
    return SystemMessage("\n\n".join(contents), messages[0].timestamp, sections, list(tools.values()))
