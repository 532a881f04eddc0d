"""Cases of stored histories that go to a model: the messages handed to the API layer, and the body that is sent."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from piolet.base.json import encode
from piolet.llm.errors import RequestError
from piolet.llm.handoff import prepare_history
from piolet.llm.messages import AssistantMessage, Message, ThinkingContent, ToolResultMessage, text_of
from piolet.llm.model import Context, Model, StreamOptions
from piolet.llm.normalize import normalize_message
from piolet.llm.protocols import protocol_for
from tests.conformance.outcome import Skip, equal
from tests.llm.wire import model_at


def check_case(case: Mapping[str, Any]) -> None:
    model = _target(case["setup"]["target"])
    try:
        protocol = protocol_for(model.api)
    except RequestError:
        raise Skip(f"nothing here speaks {model.api} yet") from None
    messages = [_decoded(message) for message in case["input"]["messages"]]
    prepared = prepare_history(messages, model, protocol.id_rule(model))
    for key, wanted in case["expected"].items():
        if key == "request_property":
            if wanted not in PROPERTIES:
                raise Skip(f"nothing here checks that {wanted}")
            PROPERTIES[wanted](protocol.request(model, Context(messages), StreamOptions(api_key="k")).body)
        elif key not in CHECKS:
            raise Skip(f"nothing here checks {key}")
        else:
            CHECKS[key](prepared, wanted)


def _target(target: Mapping[str, Any]) -> Model:
    fields = {"provider": target["provider"], "id": target["model"], "input": target["input"]}
    return model_at("http://127.0.0.1:9", target["api"], **fields, compat=target.get("compat"))


def _decoded(message: Mapping[str, Any]) -> Message:
    decoded = normalize_message(message, 0)
    assert decoded is not None, f"no message: {message}"
    return decoded


# ------------------------------------------------------------------------------------- the messages handed on


def _answered_once(messages: Sequence[Message], wanted: bool) -> None:
    calls = [call.id for m in messages if isinstance(m, AssistantMessage) for call in m.tool_calls]
    results = [m.tool_call_id for m in messages if isinstance(m, ToolResultMessage)]
    equal(sorted(results), sorted(calls), "ids of results and calls")


def _call_directly_before(messages: Sequence[Message], wanted: bool) -> None:
    open_calls: set[str] = set()
    for message in messages:
        if isinstance(message, ToolResultMessage):
            assert message.tool_call_id in open_calls, f"no call directly before the result {message.tool_call_id}"
        else:
            open_calls = {call.id for call in message.tool_calls} if isinstance(message, AssistantMessage) else set()


def _no_block_type(messages: Sequence[Message], wanted: Sequence[str]) -> None:
    found = {block.type for message in messages for block in message.content if not isinstance(block, str)}
    assert not found & set(wanted), f"blocks of the types {found}"


def _call_ids(messages: Sequence[Message]) -> list[str]:
    return [call.id for m in messages if isinstance(m, AssistantMessage) for call in m.tool_calls]


def _ids_match(messages: Sequence[Message], pattern: str) -> None:
    for call_id in _call_ids(messages):
        assert re.search(pattern, call_id), f"id {call_id!r}"


def _has_signature(messages: Sequence[Message], wanted: str) -> None:
    answers = [message for message in messages if isinstance(message, AssistantMessage)]
    signatures = [b.thinking_signature for m in answers for b in m.content if isinstance(b, ThinkingContent)]
    assert wanted in signatures, f"signatures {signatures}"


def _block_count(messages: Sequence[Message], wanted: Mapping[str, int]) -> None:
    equal({index: len(messages[int(index)].content) for index in wanted}, dict(wanted), "blocks")


def _synthetic_is_error(messages: Sequence[Message], wanted: bool) -> None:
    made = [m for m in messages if isinstance(m, ToolResultMessage) and text_of(m.content) == "No result provided"]
    assert made, "no result was added"
    equal([message.is_error for message in made], [wanted] * len(made))


def _text_not_contains(messages: Sequence[Message], wanted: Sequence[str]) -> None:
    sent = encode(messages).decode()
    for piece in wanted:
        assert piece not in sent, f"{piece!r} is sent"


CHECKS: Mapping[str, Callable[[Sequence[Message], Any], None]] = {
    "every_tool_call_answered_once": _answered_once,
    "every_result_has_its_call_directly_before": _call_directly_before,
    "roles": lambda messages, wanted: equal([message.role for message in messages], wanted, "roles"),
    "texts": lambda messages, wanted: equal([text_of(message.content) for message in messages], wanted, "texts"),
    "text_not_contains": _text_not_contains,
    "block_count": _block_count,
    "no_block_type": _no_block_type,
    "has_signature": _has_signature,
    "ids_match": _ids_match,
    "distinct_call_ids": lambda messages, wanted: equal(len(set(_call_ids(messages))), wanted, "distinct ids"),
    "synthetic_result_is_error": _synthetic_is_error,
    "no_empty_message": lambda messages, wanted: equal([m.role for m in messages if not m.content], [], "empty"),
}

# ------------------------------------------------------------------------------------------ properties of the body


def _no_blank_text(body: Mapping[str, Any]) -> None:
    for message in body["messages"]:
        content = message["content"]
        texts = [content] if isinstance(content, str) else [b["text"] for b in content if b["type"] == "text"]
        assert all(text.strip() for text in texts), f"blank text in {message}"


def _tool_content_is_text(body: Mapping[str, Any]) -> None:
    results = [message["content"] for message in body["messages"] if message["role"] == "tool"]
    assert results, "no tool message"
    assert all(isinstance(content, str) and content for content in results), f"contents {results}"


def _pictures_behind_results(body: Mapping[str, Any]) -> None:
    roles = [message["role"] for message in body["messages"]]
    start = roles.index("assistant")
    equal(roles[start : start + 4], ["assistant", "tool", "tool", "user"], "roles")
    assert "image_url" in [part["type"] for part in body["messages"][start + 3]["content"]], "no picture"


def _results_in_one_message(body: Mapping[str, Any]) -> None:
    lists = [message["content"] for message in body["messages"] if isinstance(message["content"], list)]
    with_results = [types for blocks in lists if "tool_result" in (types := [block["type"] for block in blocks])]
    equal([types[:2] for types in with_results], [["tool_result", "tool_result"]], "messages with results")


PROPERTIES: Mapping[str, Callable[[Mapping[str, Any]], None]] = {
    "no text block in the Anthropic body is blank": _no_blank_text,
    "the tool message content is a non-empty string": _tool_content_is_text,
    "OpenAI body: assistant, tool, tool, then user with the picture": _pictures_behind_results,
    "one user message holds both tool_result blocks, before any text block": _results_in_one_message,
}
