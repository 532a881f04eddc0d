"""The protocols against a server that nobody here wrote and that imitates their providers."""

from __future__ import annotations

from typing import Any

import pytest

from piolet.llm.messages import (
    AssistantMessage,
    Message,
    TextContent,
    ThinkingContent,
    ToolResultMessage,
    UserMessage,
)
from piolet.llm.model import Context, StreamOptions, ToolSpec
from piolet.llm.pool import HttpPool
from piolet.llm.retry import is_retryable
from piolet.llm.transport import run_request
from tests.conformance.cassettes import check_order
from tests.llm.wire import model_at

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}, "command": {"type": "string"}}}
TOOLS = [ToolSpec("read", "Reads a file.", SCHEMA), ToolSpec("bash", "Runs a command.", SCHEMA)]
PLACES = {
    "openai-completions": ("/v1", "gpt-4o"),
    "openai-responses": ("/v1", "gpt-5"),
    "azure-openai-responses": ("/openai/v1", "gpt-5"),
    "anthropic-messages": ("", "claude-sonnet-4-5"),
    "google-generative-ai": ("/v1beta", "gemini-3-flash"),
    "google-vertex": ("", "gemini-3-flash"),
    "bedrock-converse-stream": ("", "anthropic.claude-sonnet-4-5-v1:0"),
    "mistral-conversations": ("", "mistral-large-latest"),
}
VERTEX = {"GOOGLE_CLOUD_PROJECT": "p1", "GOOGLE_CLOUD_LOCATION": "us-central1"}


class Server:
    def __init__(self, url: str, api: str, pool: HttpPool) -> None:
        self.api = api
        path, model_id = PLACES[api]
        provider = "azure" if api.startswith("azure") else "stub"
        self._model = model_at(url + path, api, id=model_id, provider=provider, reasoning=True)
        self._pool = pool

    async def ask(self, *messages: Message | str, **options: Any) -> AssistantMessage:
        said = [UserMessage(message, 1) if isinstance(message, str) else message for message in messages]
        given: dict[str, Any] = {"api_key": "test-key", **options}
        if self.api == "google-vertex":
            given |= {"api_key": None, "env": VERTEX, "headers": {"authorization": "Bearer token"}}
        context = Context(said, "Be brief.", TOOLS)
        stream = run_request(self._model, context, StreamOptions(**given), self._pool)
        check_order([event async for event in stream])
        return await stream.result()


@pytest.fixture(params=sorted(PLACES))
def server(aimock: str, request: pytest.FixtureRequest, pool: HttpPool) -> Server:
    return Server(aimock, request.param, pool)


async def test_text(server: Server) -> None:
    message = await server.ask("hello")
    assert (message.error_message, message.stop_reason) == (None, "stop")
    assert message.text == "Good day from a server that knows one line."


async def test_parallel_calls_and_their_results(server: Server) -> None:
    called = await server.ask("do both")
    assert (called.error_message, called.stop_reason) == (None, "toolUse")
    assert [(call.name, call.arguments) for call in called.tool_calls] == [
        ("read", {"path": "notes.txt"}),
        ("bash", {"command": "ls"}),
    ]
    results = [ToolResultMessage(call.id, call.name, [TextContent("ok")], False, 2) for call in called.tool_calls]
    message = await server.ask("do both", called, *results, "hello")
    assert (message.error_message, message.text) == (None, "Good day from a server that knows one line.")


async def test_too_many_requests(server: Server) -> None:
    message = await server.ask("limit")
    assert message.stop_reason == "error"
    assert "429" in (message.error_message or "")
    assert "Slow down" in (message.error_message or "")
    assert is_retryable(message.error_message or "")


async def test_reasoning(server: Server) -> None:
    message = await server.ask("think", reasoning="high")
    assert (message.error_message, message.text) == (None, "So be it.")
    expected = ["thinking", "text"] if server.api != "mistral-conversations" else ["text"]  # it knows none of Mistral's
    assert [block.type for block in message.content] == expected
    if isinstance(first := message.content[0], ThinkingContent):
        assert first.thinking == "There is little to weigh."
