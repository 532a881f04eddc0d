"""How many tokens a conversation is about, and how much room it leaves."""

from __future__ import annotations

from typing import Any

import pytest

from piolet.llm.estimate import estimate_context, estimate_tokens, output_limit, utf16_length
from piolet.llm.messages import (
    NO_COST,
    ImageContent,
    Message,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    Usage,
    UserMessage,
)
from piolet.llm.model import Context, ToolSpec
from tests.llm.wire import answer, model_at

CALL = ToolCall("c", "read", {"path": "é"})
IMAGE = ImageContent("A" * 50_000, "image/png")


def test_lengths_are_utf16() -> None:
    assert [utf16_length(text) for text in ("", "abc", "é", "😀", "a😀\ud83d")] == [0, 3, 1, 2, 4]


@pytest.mark.parametrize(
    ("message", "tokens"),
    [
        (UserMessage("", 1), 0),
        (UserMessage("abcde", 1), 2),
        (UserMessage("😀😀", 1), 1),
        (UserMessage([TextContent("ab"), TextContent("cd"), IMAGE], 1), 1201),
        (ToolResultMessage("c", "t", [TextContent("abcd")], False, 1), 1),
        (answer(TextContent("ab"), ThinkingContent("cd", "x" * 999)), 1),
        (answer(CALL), 4),
    ],
)
def test_a_quarter_of_the_characters_rounded_up(message: Message, tokens: int) -> None:
    assert estimate_tokens(message) == tokens


def test_a_context_is_its_last_usage_and_what_came_after() -> None:
    known = answer(TextContent("x" * 4000), usage=Usage(70, 30, 0, 0, 100, NO_COST))
    failed = answer(TextContent("x" * 40), stop="error", usage=Usage(1, 1, 1, 1, 4, NO_COST))
    assert estimate_context(Context([UserMessage("x" * 400, 1), known, failed, UserMessage("abcd", 1)], "s")) == 111
    tool = ToolSpec("t", "d", {})
    without = Context([UserMessage("abcd", 1), failed], "x" * 40, [tool])
    assert estimate_context(without) == 1 + 10 + 22


@pytest.mark.parametrize(
    ("window", "used", "own", "wanted", "limit"),
    [
        (128_000, 1000, 8192, None, 8192),
        (128_000, 1000, 8192, 500, 500),
        (128_000, 1000, 8192, 90_000, 8192),
        (200_000, 50_000, 200_000, None, 200_000 - 50_000 - 7500),
        (200_000, 10_000, 200_000, None, 200_000 - 10_000 - 4096),
        (128_000, 90_000, 64_000, None, 32_768),
        (128_000, 100_000, 64_000, None, 128_000 - 100_000 - 4096),
        (128_000, 127_000, 64_000, None, 1),
        (0, 1000, 8192, None, 8192),
        (128_000, 1000, 0, None, 0),
    ],
)
def test_the_answer_gets_the_room_that_the_window_has(
    window: int, used: int, own: int, wanted: int | None, limit: int
) -> None:
    known = answer(TextContent("x"), usage=Usage(used, 0, 0, 0, used, NO_COST))
    model: Any = model_at("", context_window=window, max_tokens=own)
    assert output_limit(model, Context([known]), wanted) == limit
