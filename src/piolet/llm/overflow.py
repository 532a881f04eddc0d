"""Whether a request failed because the conversation no longer fits the model. Source: providers, section 3."""

from __future__ import annotations

from piolet.llm.errors import says
from piolet.llm.messages import AssistantMessage

_N = r"[\d,._ ]*\d"

_OVERFLOW = (
    r"prompt (?:is )?too long",
    r"prompt exceeds max(?:imum)? length",
    r"request_too_large",
    r"input is too long for requested model",
    r"exceeds the context window",
    rf"exceeds (?:the )?(?:model'?s )?maximum context length (?:of {_N}|\({_N}\))",
    r"context[ _]window (?:is |was )?exceeded",
    r"input token count.{0,60}exceeds the maximum",
    rf"maximum prompt length is {_N}",
    r"reduce the length of the messages",
    rf"maximum context length is {_N} tokens",
    rf"exceeds (?:the )?maximum allowed input length of {_N} tokens",
    rf"input \({_N} tokens\) is longer than the model'?s context length",
    rf"exceeds the limit of {_N}",
    r"exceeds the available context size",
    r"greater than the context length",
    r"context window exceeds limit",
    r"exceeded model token limit",
    rf"too large for model with {_N} maximum context length",
    rf"prompt has {_N} tokens, but the configured context size is {_N} tokens",
    r"model_context_window_exceeded",
    r"exceeded (?:max )?context length",
    r"range of input length should be",
    r"context[_ ]length[_ ]exceeded",
    r"too many tokens",
    r"token limit exceeded",
    r"^(?:HTTP )?413\b",
    r"^[^:()]{0,60}API error \(413\)",
)
_OTHER = (r"^(?:Throttling error|Service unavailable):", r"rate[ _-]?limit", r"too[ _]many[ _]requests")
_NO_BODY = (r"^4(?:00|13)\b.*\(no body\)",)


def is_overflow_text(text: str, provider: str = "") -> bool:
    """Return whether an error text says that the input is too long. `provider`: cerebras says it without any text."""
    if says(text, _OTHER):
        return False
    return says(text, _OVERFLOW) or (provider == "cerebras" and says(text, _NO_BODY))


def is_overflow(message: AssistantMessage, context_window: int = 0) -> bool:
    """Return whether `message` failed for the length of its input.

    With a `context_window` also when it did so silently: more input than the window and yet an answer, or a full window
    and no output.
    """
    sent = message.usage.input + message.usage.cache_read
    match message.stop_reason:
        case "error":
            return is_overflow_text(message.error_message or "", message.provider)
        case "stop":
            return context_window > 0 and sent > context_window
        case "length":
            return context_window > 0 and message.usage.output == 0 and sent >= context_window * 0.99
        case _:
            return False


def is_recoverable_length(message: AssistantMessage, max_tokens: int) -> bool:
    """Return whether an answer stopped for length below the model's own limit: the window was full, not the answer."""
    return message.stop_reason == "length" and max_tokens > 0 and message.usage.output < max_tokens
