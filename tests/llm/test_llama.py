"""The protocols that it speaks against llama.cpp's own HTTP server, which nobody here wrote."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from piolet.base.abort import AbortController
from piolet.llm.messages import (
    AssistantMessage,
    Message,
    TextContent,
    ThinkingContent,
    ToolResultMessage,
    UserMessage,
)
from piolet.llm.model import Context, StreamOptions, ToolSpec
from piolet.llm.overflow import is_overflow
from piolet.llm.pool import HttpPool
from piolet.llm.retry import is_retryable
from piolet.llm.transport import run_request
from tests.conformance.cassettes import check_order
from tests.llm.wire import model_at

APIS = ["openai-completions", "openai-responses", "anthropic-messages"]
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}, "command": {"type": "string"}}}
READ, BASH = ToolSpec("read", "Reads a file.", SCHEMA), ToolSpec("bash", "Runs a command.", SCHEMA)
TOOLS = [READ, BASH]


@pytest.fixture(params=APIS)
def api(request: pytest.FixtureRequest) -> str:
    return str(request.param)


class Llama:
    def __init__(self, url: str, api: str, pool: HttpPool) -> None:
        base = url if api == "anthropic-messages" else f"{url}/v1"
        self._model = model_at(base, api, input=["text"], context_window=32_768, max_tokens=2048)
        self._pool = pool

    async def ask(
        self, *messages: Message | str, tools: Sequence[ToolSpec] = TOOLS, **options: Any
    ) -> AssistantMessage:
        said = [UserMessage(message, 1) if isinstance(message, str) else message for message in messages]
        given: dict[str, Any] = {"api_key": "none", "temperature": 0, **options}
        context = Context(said, "Be brief.", tools)
        stream = run_request(self._model, context, StreamOptions(**given), self._pool)
        check_order([event async for event in stream])
        return await stream.result()


@pytest.fixture
def model(llama: str, api: str, pool: HttpPool) -> Llama:
    return Llama(llama, api, pool)


async def test_text(model: Llama) -> None:
    message = await model.ask("hello")
    assert (message.error_message, message.stop_reason) == (None, "stop")
    assert [block.type for block in message.content] == ["text"]
    assert message.text == "Good day, I recite one line."
    assert message.usage.output > 3
    assert message.usage.input + message.usage.cache_read > 10
    assert message.response_id


async def test_reasoning_comes_before_the_text(model: Llama) -> None:
    message = await model.ask("think about it", tools=[])
    assert message.error_message is None
    thinking, text = message.content
    assert isinstance(thinking, ThinkingContent)
    assert "There is little to weigh." in thinking.thinking
    assert isinstance(text, TextContent)
    assert "So be it." in text.text


@pytest.mark.parametrize(
    ("said", "calls"),
    [
        ("read it", [("read", {"path": "notes.txt"})]),
        ("run it", [("bash", {"command": "ls"})]),
        ("do both", [("read", {"path": "notes.txt"}), ("bash", {"command": "ls"})]),
    ],
)
async def test_calls(model: Llama, said: str, calls: list[tuple[str, dict[str, Any]]]) -> None:
    message = await model.ask(said)
    assert (message.error_message, message.stop_reason) == (None, "toolUse")
    assert [(call.name, call.arguments) for call in message.tool_calls] == calls
    assert len({call.id for call in message.tool_calls}) == len(calls)


async def test_results_are_fed_back(model: Llama) -> None:
    called = await model.ask("do both")
    results = [
        ToolResultMessage(call.id, call.name, [TextContent(f"result of {call.name}")], False, 2)
        for call in called.tool_calls
    ]
    message = await model.ask("do both", called, *results)
    assert (message.error_message, message.text) == (None, "Thank you for the result.")


async def test_a_call_that_is_required_is_made(model: Llama) -> None:
    message = await model.ask("hello", tools=[READ], tool_choice="required", max_tokens=200)
    assert message.error_message is None
    assert [call.name for call in message.tool_calls] == ["read"]
    assert message.tool_calls[0].arguments_error is None


async def test_the_limit_of_output_stops_it(model: Llama, api: str) -> None:
    message = await model.ask("forever", max_tokens=20)
    reason = "stop" if api == "openai-responses" else "length"  # there it calls a response completed, whatever ended it
    assert (message.error_message, message.stop_reason, message.usage.output) == (None, reason, 20)


async def test_an_abort_keeps_what_came(model: Llama) -> None:
    controller = AbortController()
    events = 0

    async def count(record: object, asked: object) -> None:
        nonlocal events
        events += 1
        if events == 20:
            controller.abort()

    message = await model.ask("forever", signal=controller.signal, on_provider_event=count)
    assert (message.stop_reason, message.error_message) == ("aborted", "Request was aborted")
    assert message.text.startswith("on and on")


async def test_a_prompt_that_is_too_long_is_told_as_overflow(model: Llama) -> None:
    message = await model.ask("x" * 40_000)
    assert message.stop_reason == "error"
    assert (message.error_message or "").startswith("400: ")
    assert is_overflow(message)
    assert not is_retryable(message.error_message or "")


async def test_an_error_within_the_stream_is_told(model: Llama, api: str) -> None:
    message = await model.ask("read it", tools=[BASH])
    assert message.stop_reason == "error"
    assert message.error_message
    assert "finish_reason" not in message.error_message
    assert "message_stop" not in message.error_message
