"""Whatever a history holds, the body that is made of it has each call answered once, directly behind, in order."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import Any, Literal, TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from piolet.base.json import encode
from piolet.llm.messages import (
    AssistantMessage,
    ImageContent,
    Message,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from piolet.llm.model import Context, StreamOptions
from piolet.llm.protocols import protocol_for
from tests.llm.wire import answer, model_at

Step: TypeAlias = tuple[Literal["call", "result", "other"], str]
"""What a part of a body is, and the id of the call."""

IDS = st.sampled_from(["a", "b", "a.1", "a:1", "x" * 80, "call|fc", "call|fc_2", "abcdef123", ""])
SIGNATURES = st.sampled_from(
    [None, "reasoning_content", "QUJD", "{", '{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"E"}']
)
BLOCKS = st.sampled_from([TextContent("t"), TextContent(" "), TextContent("\ud800"), ImageContent("AAAA", "image/png")])
USERS = st.builds(lambda blocks: UserMessage(blocks, 1), st.lists(BLOCKS, max_size=2))
RESULTS = st.builds(
    lambda call_id, blocks, failed: ToolResultMessage(call_id, "read", blocks, failed, 2),
    IDS,
    st.lists(BLOCKS, max_size=2),
    st.booleans(),
)


def answers(api: str) -> st.SearchStrategy[AssistantMessage]:
    """Return answers of the model that is asked and of another, in all states."""
    calls = st.builds(lambda call_id: ToolCall(call_id, "read", {"k": "\ud800"}), IDS)
    texts = st.builds(TextContent, st.sampled_from(["t", " ", ""]), SIGNATURES)
    thoughts = st.builds(
        ThinkingContent, st.sampled_from(["t", " ", "\ud800"]), SIGNATURES, st.sampled_from([None, True])
    )
    return st.builds(
        lambda blocks, stop, provider: answer(*blocks, stop=stop, provider=provider, api=api),
        st.lists(calls | texts | thoughts, max_size=4),
        st.sampled_from(["stop", "toolUse", "length", "error", "aborted"]),
        st.sampled_from(["stub", "other"]),
    )


def chat(body: Mapping[str, Any]) -> Iterator[Step]:
    for message in body["messages"]:
        if message["role"] == "tool":
            assert message["content"]
            yield "result", message["tool_call_id"]
        else:
            assert message["content"] or message.get("tool_calls") or message["role"] == "assistant"
            yield "other", ""
            yield from (("call", call["id"]) for call in message.get("tool_calls", ()))


def claude(body: Mapping[str, Any]) -> Iterator[Step]:
    for message in body["messages"]:
        blocks = message["content"]
        assert blocks
        assert all(block["text"].strip() for block in blocks if block["type"] == "text")
        for block in blocks if isinstance(blocks, list) else ():
            match block["type"]:
                case "tool_use":
                    yield "call", block["id"]
                case "tool_result":
                    yield "result", block["tool_use_id"]
                case _:
                    yield "other", ""


def responses(body: Mapping[str, Any]) -> Iterator[Step]:
    waiting = False
    for item in body["input"]:
        match item.get("type"):
            case "function_call":
                assert len(item.get("id", "")) <= 64
                yield "call", item["call_id"]
            case "function_call_output":
                assert item["output"]
                yield "result", item["call_id"]
            case _:
                yield "other", ""
        assert not waiting or item.get("type") in ("message", "function_call", "reasoning"), "reasoning led to nothing"
        waiting = item.get("type") == "reasoning"
    assert not waiting


def gemini(body: Mapping[str, Any]) -> Iterator[Step]:
    for content in body["contents"]:
        assert content["parts"]
        for part in content["parts"]:
            if call := part.get("functionCall"):
                yield "call", call["id"]
            elif response := part.get("functionResponse"):
                yield "result", response["id"]
            else:
                yield "other", ""


def bedrock(body: Mapping[str, Any]) -> Iterator[Step]:
    roles = [message["role"] for message in body["messages"]]
    assert all(one != other for one, other in pairwise(roles)), roles
    for message in body["messages"]:
        assert message["content"]
        for block in message["content"]:
            if call := block.get("toolUse"):
                yield "call", call["toolUseId"]
            elif result := block.get("toolResult"):
                assert result["content"]
                yield "result", result["toolUseId"]
            else:
                assert "text" not in block or block["text"].strip()
                yield "other", ""


def mistral(body: Mapping[str, Any]) -> Iterator[Step]:
    roles = [message["role"] for message in body["messages"]]
    assert ("tool", "user") not in pairwise(roles)
    return chat(body)


READERS: Mapping[str, tuple[str, Callable[[Mapping[str, Any]], Iterator[Step]]]] = {
    "openai-completions": ("m1", chat),
    "anthropic-messages": ("m1", claude),
    "openai-responses": ("m1", responses),
    "azure-openai-responses": ("m1", responses),
    "google-generative-ai": ("gemini-3-x", gemini),
    "google-vertex": ("gemini-3-x", gemini),
    "bedrock-converse-stream": ("anthropic.claude-x", bedrock),
    "mistral-conversations": ("m1", mistral),
}


@pytest.mark.parametrize("api", sorted(READERS))
@settings(max_examples=60)
@given(st.data())
def test_every_call_is_answered_once(api: str, data: st.DataObject) -> None:
    model_id, steps_of = READERS[api]
    history: list[Message] = data.draw(st.lists(answers(api) | RESULTS | USERS))
    model = model_at("http://x", api, id=model_id)
    request = protocol_for(api).request(model, Context(history), StreamOptions(api_key="k"))
    assert b"ud800" not in encode(request.body)
    waiting: list[str] = []
    answered = False
    seen: set[str] = set()
    for kind, call_id in steps_of(request.body):
        if kind == "call":
            assert not answered or not waiting, "a call between results"
            assert call_id not in seen
            seen.add(call_id)
            waiting.append(call_id)
            answered = False
        elif kind == "result":
            assert call_id == waiting.pop(0)
            answered = True
        else:
            assert not (answered and waiting), "something between results"
    assert not waiting


RULES = {
    "openai-responses": r"[A-Za-z0-9_-]{1,64}(\|fc_[0-9a-f]+)?",
    "google-generative-ai": r"[A-Za-z0-9_-]{1,64}",
    "bedrock-converse-stream": r"[A-Za-z0-9_-]{1,64}",
    "mistral-conversations": r"[A-Za-z0-9]{9}",
}


@pytest.mark.parametrize("api", sorted(RULES))
@given(call_id=st.text(max_size=90), attempt=st.integers(0, 3))
def test_ids_of_other_models_are_cleaned_always_in_the_same_way(api: str, call_id: str, attempt: int) -> None:
    rule = protocol_for(api).id_rule(model_at("http://x", api))
    made = rule(call_id, attempt)
    assert re.fullmatch(RULES[api], made)
    assert rule(call_id, attempt) == made
    assert rule(call_id, attempt + 1) != made
