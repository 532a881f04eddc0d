"""How many tokens a message is about, and how much room it leaves for the answer. Lengths are UTF-16 code units.

Source: compaction, section 2; providers, section 3.
"""

from __future__ import annotations

from collections.abc import Sequence

from piolet.base.json import dumps
from piolet.llm.messages import (
    AssistantMessage,
    ImageContent,
    Message,
    TextContent,
    ThinkingContent,
    ToolCall,
    Usage,
    UserBlock,
)
from piolet.llm.model import Context, Model

IMAGE_CHARS = 4800
MIN_RESERVE = 4096
SMALL_ROOM = 32_768


def utf16_length(text: str) -> int:
    """Return the number of UTF-16 code units of `text`, which is what JavaScript calls its length."""
    return len(text) if text.isascii() else len(text) + sum(char > "\uffff" for char in text)


def tokens_of_chars(chars: int) -> int:
    """Return a quarter of `chars`, rounded up."""
    return -(-chars // 4)


def content_chars(content: str | Sequence[UserBlock]) -> int:
    """Return the length of a user's or a result's content; an image counts 4800."""
    if isinstance(content, str):
        return utf16_length(content)
    chars = 0
    for block in content:
        match block:
            case TextContent():
                chars += utf16_length(block.text)
            case ImageContent():
                chars += IMAGE_CHARS
            case _:
                pass
    return chars


def assistant_chars(message: AssistantMessage) -> int:
    """Return the length of an answer: text, thinking, names and arguments of calls, no signatures."""
    chars = 0
    for block in message.content:
        match block:
            case TextContent():
                chars += utf16_length(block.text)
            case ThinkingContent():
                chars += utf16_length(block.thinking)
            case ToolCall():
                chars += utf16_length(block.name) + utf16_length(dumps(block.arguments))
            case _:
                pass
    return chars


def estimate_tokens(message: Message) -> int:
    """Return about how many tokens one message is."""
    if isinstance(message, AssistantMessage):
        return tokens_of_chars(assistant_chars(message))
    return tokens_of_chars(content_chars(message.content))


def usage_tokens(usage: Usage) -> int:
    """Return the tokens of the whole context that `usage` tells of."""
    return usage.total_tokens or usage.input + usage.output + usage.cache_read + usage.cache_write


def estimate_context(context: Context) -> int:
    """Return about how many tokens a request is: the last usage that a provider told, plus what came after it.

    Without such a usage everything is estimated, the prompt and the tools too.
    """
    tokens = 0
    for message in reversed(context.messages):
        if isinstance(message, AssistantMessage) and message.stop_reason not in ("error", "aborted"):
            known = usage_tokens(message.usage)
            if known:
                return tokens + known
        tokens += estimate_tokens(message)
    fixed = utf16_length(context.system_prompt or "") + sum(len(dumps(tool)) for tool in context.tools)
    return tokens + tokens_of_chars(fixed)


def output_limit(model: Model, context: Context, wanted: int | None = None) -> int:
    """Return the limit of output tokens to send: `wanted` or the model's own, as far as the window has room."""
    limit = min(wanted or model.max_tokens, model.max_tokens or wanted or 0)
    if model.context_window <= 0:
        return limit
    used = estimate_context(context)
    # Estimates are wrong by some percent: a wide margin where there is room, a narrow one where there is little.
    room = model.context_window - used - max(MIN_RESERVE, -(-used * 15 // 100))
    if room < SMALL_ROOM:
        room = min(SMALL_ROOM, model.context_window - used - MIN_RESERVE)
    return min(limit, max(1, room))
