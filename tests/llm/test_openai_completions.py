"""The wire protocol of chat completions, over a real connection."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from piolet.llm.model import StreamOptions
from piolet.llm.pool import HttpPool
from piolet.llm.transport import run_request
from tests.llm.wire import ask, model_at
from tests.support.replies import Call, Thinking, openai
from tests.support.server import ScriptedServer


@pytest.fixture
async def pool() -> AsyncIterator[HttpPool]:
    pool = HttpPool()
    yield pool
    await pool.aclose()


async def test_an_answer_streams_as_events_and_ends_as_a_message(pool: HttpPool) -> None:
    with ScriptedServer([openai(Thinking("Let me think."), "Reading.", Call("read", {"path": "a"}))]) as server:
        stream = run_request(model_at(f"{server.url}/v1"), ask(), StreamOptions(api_key="k"), pool)
        types = [event.type async for event in stream]
        message = await stream.result()
    assert types[0] == "start"
    assert types[-4:] == ["thinking_end", "text_end", "toolcall_end", "done"]
    assert [block.type for block in message.content] == ["thinking", "text", "toolCall"]
    assert message.text == "Reading."
    assert message.tool_calls[0].arguments == {"path": "a"}
    assert (message.stop_reason, message.raw_stop_reason, message.response_id) == (
        "toolUse",
        "tool_calls",
        "chatcmpl-1",
    )
    assert server.requests[0].path == "/v1/chat/completions"
    assert server.requests[0].headers["authorization"] == "Bearer k"


async def test_an_http_error_is_a_lone_error_event_with_the_words_of_the_server(pool: HttpPool) -> None:
    with ScriptedServer([{"status": 500, "json": {"error": {"message": "boom"}}}]) as server:
        events = [e async for e in run_request(model_at(server.url), ask(), StreamOptions(), pool)]
    assert [event.type for event in events] == ["error"]
    assert events[0].error.error_message == '500: {"message":"boom"}'
