"""Which failures mean that the conversation no longer fits."""

from __future__ import annotations

import pytest

from piolet.llm.messages import NO_COST, AssistantMessage, StopReason, Usage
from piolet.llm.overflow import is_overflow, is_overflow_text
from tests.llm.wire import answer

TOO_LONG = """
    prompt is too long: 213462 tokens > 200000 maximum
    prompt too long; exceeded max context length by 9 tokens
    Prompt exceeds max length
    413 {"error":{"type":"request_too_large"}}
    Input is too long for requested model.
    Your input exceeds the context window of this model
    This endpoint exceeds the model's maximum context length of 131,072 tokens
    exceeds maximum context length (262144)
    Context window exceeded for given call
    The input token count (1196265) exceeds the maximum number of tokens allowed (1048575)
    This model's maximum prompt length is 131072 but the request contains 537812 tokens
    Please reduce the length of the messages or completion
    This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens.
    exceeds the maximum allowed input length of 4096 tokens
    Input (5000 tokens) is longer than the model's context length (4096 tokens)
    prompt token count of 200000 exceeds the limit of 128000
    the request exceeds the available context size. try increasing the context size
    tokens to keep from the initial prompt is greater than the context length
    invalid params, context window exceeds limit
    Your request exceeded model token limit: 262144
    Prompt contains 300000 tokens, too large for model with 262144 maximum context length
    prompt has 9000 tokens, but the configured context size is 4096 tokens
    Provider stopped with: model_context_window_exceeded
    Range of input length should be [1, 129024]
    400: {"code":"context_length_exceeded","message":"x"}
    too many tokens
    token limit exceeded
    413 status code (no body)
    413: payload
    HTTP 413
    acme API error (413): nope
"""
OTHER = """
    Throttling error: Too many tokens, please wait
    Service unavailable: too many tokens
    ThrottlingException: Too many tokens, please wait - rate limit
    429: {"type":"rate_limit_error","message":"too many tokens per minute"}
    429 Too many requests: token limit exceeded
    400 status code (no body)
    400: {"message":"bad request"}
    error 413 in the text
    4130 things
    connection reset
"""


def lines(text: str) -> list[str]:
    return [line.strip() for line in text.strip().splitlines()]


@pytest.mark.parametrize("text", lines(TOO_LONG))
def test_texts_that_say_so(text: str) -> None:
    assert is_overflow_text(text)
    assert is_overflow(answer(stop="error", error_message=text))


@pytest.mark.parametrize("text", ["", *lines(OTHER)])
def test_texts_that_say_something_else(text: str) -> None:
    assert not is_overflow_text(text)


@pytest.mark.parametrize("text", ["400 (no body)", "400 status code (no body)", "413 status code (no body)"])
def test_cerebras_says_nothing(text: str) -> None:
    assert is_overflow(answer(stop="error", error_message=text, provider="cerebras"))


def used(stop: StopReason, sent: int, cached: int, output: int) -> AssistantMessage:
    return answer(stop=stop, usage=Usage(sent, output, cached, 0, sent + cached + output, NO_COST))


@pytest.mark.parametrize(
    ("message", "overflow"),
    [
        (used("stop", 60, 50, 5), True),
        (used("stop", 60, 40, 5), False),
        (used("length", 60, 39, 0), True),
        (used("length", 60, 38, 0), False),
        (used("length", 60, 40, 1), False),
        (used("toolUse", 200, 0, 5), False),
        (used("aborted", 200, 0, 5), False),
    ],
)
def test_silent_overflow_shows_in_the_usage(message: AssistantMessage, overflow: bool) -> None:
    assert is_overflow(message, 100) is overflow
    assert not is_overflow(message)
