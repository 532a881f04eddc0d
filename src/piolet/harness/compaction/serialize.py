"""A conversation as one marked text, the material of a summary (the compaction specification, section 5)."""

from __future__ import annotations

from collections.abc import Sequence

from piolet.base.json import dumps
from piolet.llm.estimate import utf16_length
from piolet.llm.messages import AssistantMessage, Message, TextContent, ToolCall, ToolResultMessage, text_of

#: UTF-16 code units of a tool result that are kept.
RESULT_LIMIT = 2000


def serialize_conversation(messages: Sequence[Message]) -> str:
    """Return the messages as text blocks joined by blank lines. Thinking and images are left out."""
    parts: list[str] = []
    for message in messages:
        match message:
            case AssistantMessage():
                parts += _assistant_parts(message)
            case ToolResultMessage():
                if text := text_of(message.content):
                    parts.append(f"[Tool result]: {_cut(text)}")
            case _:
                if text := text_of(message.content):
                    parts.append(f"[User]: {text}")
    return "\n\n".join(parts)


def _assistant_parts(message: AssistantMessage) -> list[str]:
    texts = [block.text for block in message.content if isinstance(block, TextContent)]
    parts = ["[Assistant]: " + "\n".join(texts)] if texts else []
    if message.tool_calls:
        parts.append("[Assistant tool calls]: " + "; ".join(_call(call) for call in message.tool_calls))
    return parts


def _call(call: ToolCall) -> str:
    return f"{call.name}({', '.join(f'{name}={dumps(value)}' for name, value in call.arguments.items())})"


def _cut(text: str) -> str:
    length = utf16_length(text)
    if length <= RESULT_LIMIT:
        return text
    kept = text.encode("utf-16-le", "surrogatepass")[: RESULT_LIMIT * 2].decode("utf-16-le", "surrogatepass")
    if "\ud800" <= kept[-1] <= "\udbff" and not text.startswith(kept):
        kept = kept[:-1]  # half of a pair
    return f"{kept}\n\n[... {length - RESULT_LIMIT} more characters truncated]"
