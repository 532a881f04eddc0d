"""Whatever comes over the wire, and in whatever pieces: the events are the same, in order, and nothing crashes."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from piolet.base.json import dumps
from piolet.llm.errors import LlmError
from piolet.llm.events import AssistantEvent, DoneEvent, ErrorEvent, StartEvent
from piolet.llm.model import StreamOptions
from piolet.llm.protocols import Framing, protocol_for
from piolet.llm.sse import ServerEvent
from piolet.llm.transport import parse_record
from tests.conformance.cases.area_stream import pieces
from tests.conformance.cassettes import check_order
from tests.llm.wire import ask, aws, chunk, fold, model_at, result, sse

CASES = Path(__file__).parents[1] / "data" / "cases" / "stream.json"
RECORDINGS = Path(__file__).parents[3] / "shared" / "cassettes"


CALL = {"type": "function_call", "id": "fc", "call_id": "c", "name": "read"}
MADE = {
    "responses": (
        "openai-responses",
        sse(
            {"type": "response.created", "response": {"id": "r", "model": "m"}},
            {"type": "response.output_item.added", "output_index": 0, "item": {"type": "reasoning", "id": "rs"}},
            {"type": "response.reasoning_summary_text.delta", "output_index": 0, "delta": "é"},
            {
                "type": "response.output_item.done",
                "output_index": 0,
                "item": {"type": "reasoning", "id": "rs", "summary": [{"type": "summary_text", "text": "é"}]},
            },
            {"type": "response.output_item.added", "output_index": 1, "item": {**CALL, "arguments": ""}},
            {"type": "response.function_call_arguments.delta", "output_index": 1, "delta": '{"path":'},
            {"type": "response.output_item.done", "output_index": 1, "item": {**CALL, "arguments": '{"path":"a"}'}},
            {
                "type": "response.completed",
                "response": {"status": "completed", "output": [CALL], "usage": {"input_tokens": 1, "output_tokens": 2}},
            },
        ),
    ),
    "google": (
        "google-generative-ai",
        sse(
            {"candidates": [{"content": {"parts": [{"text": "é", "thought": True}, {"text": "a"}]}}]},
            {
                "candidates": [
                    {
                        "content": {
                            "parts": [{"functionCall": {"name": "read", "args": {}}, "thoughtSignature": "AA=="}]
                        },
                        "finishReason": "STOP",
                    }
                ],
                "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 2, "totalTokenCount": 3},
            },
        ),
    ),
    "bedrock": (
        "bedrock-converse-stream",
        aws(
            ("messageStart", {"role": "assistant"}),
            ("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"reasoningContent": {"text": "é"}}}),
            ("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"reasoningContent": {"redactedContent": "AA=="}}}),
            ("contentBlockStop", {"contentBlockIndex": 0}),
            ("contentBlockStart", {"contentBlockIndex": 1, "start": {"toolUse": {"toolUseId": "c", "name": "read"}}}),
            ("contentBlockDelta", {"contentBlockIndex": 1, "delta": {"toolUse": {"input": "{}"}}}),
            ("contentBlockStop", {"contentBlockIndex": 1}),
            ("messageStop", {"stopReason": "tool_use"}),
            ("metadata", {"usage": {"inputTokens": 1, "cacheDetails": [{"ttl": "1h", "inputTokens": 1}]}}),
        ),
    ),
    "mistral": (
        "mistral-conversations",
        sse(
            chunk({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "é"}]}]}),
            chunk({"content": [{"type": "text", "text": "a"}, {"type": "reference"}]}),
            chunk({"tool_calls": [{"id": "null", "function": {"name": "read", "arguments": "{}"}}]}, "tool_calls"),
            chunk(usage={"prompt_tokens": 3, "completion_tokens": 1, "num_cached_tokens": 1}),
        ),
    ),
}


def bodies() -> dict[str, tuple[str, bytes]]:
    """Return api and body of every stream that is at hand, by name."""
    found: dict[str, tuple[str, bytes]] = dict(MADE)
    for case in json.loads(CASES.read_text()):
        if chunks := case["input"].get("chunks"):
            body = b"".join(piece for chunk in chunks for piece in pieces(chunk))
            found[case["id"]] = (case["setup"]["api"], body)
    for path in sorted(RECORDINGS.rglob("*.json")):
        recording = json.loads(path.read_text())
        response = recording["response"]
        if recording["streaming"]:
            text = response.get("body_text")
            body = text.encode() if text is not None else base64.b64decode(response["body_base64"])
            found[path.stem] = (recording["api"], body)
    return found


STREAMS = bodies()


def events_of(api: str, pieces: list[bytes]) -> list[AssistantEvent]:
    """Return the events of a body that comes in `pieces`, as the transport makes them."""
    return folded(api, frames(protocol_for(api).framing(), pieces))


def frames(framing: Framing, pieces: Iterable[bytes]) -> Iterator[ServerEvent]:
    for piece in pieces:
        yield from framing.feed(piece)
    yield from framing.end()


def folded(api: str, frames: Iterable[ServerEvent]) -> list[AssistantEvent]:
    builder = protocol_for(api).builder(model_at("http://x", api), ask(), StreamOptions())
    events: list[AssistantEvent] = [StartEvent()]
    try:
        for frame in frames:
            if frame.data.strip() != "[DONE]" and not builder.ended:
                events += builder.fold(frame.name, parse_record(frame.data))
        events += builder.finish()
        events.append(builder.done())
    except LlmError as error:
        events += builder.close_all()
        events.append(builder.failed("error", str(error)))
    check_order(events)
    return events


def comparable(events: list[AssistantEvent]) -> str:
    """Return `events` as text, without times and made-up ids."""
    last = events[-1]
    assert isinstance(last, DoneEvent | ErrorEvent)
    message = last.message if isinstance(last, DoneEvent) else last.error
    message = replace(message, timestamp=0, duration_ms=0)
    ended = replace(last, message=message) if isinstance(last, DoneEvent) else replace(last, error=message)
    return re.sub(r'"(call_[0-9a-f]{24}|[0-9a-f]{9})"', '"made-up"', dumps([*events[:-1], ended]))


@pytest.mark.parametrize("name", sorted(STREAMS))
def test_each_byte_alone_gives_the_same_events(name: str) -> None:
    api, body = STREAMS[name]
    whole = comparable(events_of(api, [body]))
    assert comparable(events_of(api, [bytes([byte]) for byte in body])) == whole


@given(st.sampled_from(sorted(STREAMS)), st.lists(st.floats(0, 1), max_size=12))
def test_any_cutting_gives_the_same_events(name: str, cuts: list[float]) -> None:
    api, body = STREAMS[name]
    places = sorted({0, len(body), *(int(cut * len(body)) for cut in cuts)})
    parts = [body[start:stop] for start, stop in pairwise(places)]
    assert comparable(events_of(api, parts)) == comparable(events_of(api, [body]))


@given(st.sampled_from(sorted(STREAMS)), st.floats(0, 1))
def test_a_stream_that_is_cut_off_ends_in_order(name: str, cut: float) -> None:
    api, body = STREAMS[name]
    events_of(api, [body[: int(cut * len(body))]])


ODD = st.sampled_from([None, True, -1, 1.5, "", "text", [], [None], {}, {"x": None}, [[]], {"type": 7}])


@st.composite
def damaged(draw: st.DrawFn, value: Any, depth: int = 0) -> Any:
    """Return a JSON value like `value` in which some parts are something else or missing."""
    if draw(st.integers(0, 12)) == 0:
        return draw(ODD)
    if isinstance(value, dict):
        kept = {key: item for key, item in value.items() if draw(st.integers(0, 15))}
        return {key: draw(damaged(item, depth + 1)) for key, item in kept.items()}
    if isinstance(value, list):
        return [draw(damaged(item, depth + 1)) for item in value]
    return value


@given(st.data(), st.sampled_from(["stream-13", "stream-19", "stream-09", "stream-35", "stream-30", *MADE]))
def test_records_that_are_not_what_they_should_be_never_crash(data: st.DataObject, name: str) -> None:
    api, body = STREAMS[name]
    whole = (frame for frame in frames(protocol_for(api).framing(), [body]) if frame.data.startswith("{"))
    broken = [ServerEvent(frame.name, json.dumps(data.draw(damaged(json.loads(frame.data))))) for frame in whole]
    for event in folded(api, broken):
        if isinstance(event, DoneEvent | ErrorEvent):
            message = event.message if isinstance(event, DoneEvent) else event.error
            assert all(isinstance(block.type, str) for block in message.content)
            assert all(isinstance(call.id, str) and isinstance(call.name, str) for call in message.tool_calls)
            assert all(isinstance(call.arguments, dict) for call in message.tool_calls)
            dumps(message)


@pytest.mark.parametrize(
    "usage", [[1], "none", 5, {"input_tokens": 1e308, "prompt_tokens": "5", "cache_creation": "x"}]
)
@pytest.mark.parametrize(
    "api", ["anthropic-messages", "openai-responses", "google-generative-ai", "mistral-conversations"]
)
def test_counters_that_are_none_do_not_cost_the_answer(api: str, usage: Any) -> None:
    text = {"type": "message", "id": "m", "content": [{"type": "output_text", "text": "hi"}]}
    records: dict[str, list[Any]] = {
        "anthropic-messages": [
            {"type": "message_start", "message": {"usage": usage}},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "hi"}},
            {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_details": "x"}, "usage": usage},
            {"type": "message_stop"},
        ],
        "openai-responses": [
            {"type": "response.output_item.done", "output_index": 0, "item": text},
            {"type": "response.completed", "response": {"status": "completed", "usage": usage}},
        ],
        "google-generative-ai": [
            {"candidates": [{"content": {"parts": [{"text": "hi"}]}, "finishReason": "STOP"}], "usageMetadata": usage}
        ],
        "mistral-conversations": [chunk({"content": "hi"}, "stop", usage=usage)],
    }
    message = result(fold(protocol_for(api).builder(model_at("http://x", api), ask(), StreamOptions()), *records[api]))
    assert (message.stop_reason, message.text, message.usage.input) == ("stop", "hi", 0)
