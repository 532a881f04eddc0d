"""Recorded traffic of providers, replayed through the real HTTP stack on loopback; fields: the README beside them."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from piolet.llm.errors import RequestError
from piolet.llm.events import AssistantEvent
from piolet.llm.messages import AssistantMessage, TextContent, ThinkingContent, ToolCall, UserMessage
from piolet.llm.model import Context, Model, ModelCost, StreamOptions, ToolSpec
from piolet.llm.overflow import is_overflow
from piolet.llm.pool import HttpPool
from piolet.llm.protocols import protocol_for
from piolet.llm.retry import is_retryable
from piolet.llm.transport import run_request
from tests.conformance.outcome import Outcome, Skip, attempt, equal
from tests.support.server import ScriptedServer


def check(path: Path) -> Iterator[Outcome]:
    """Apply one recording; one whose result depends on a compat flag is applied with the flag and without."""
    recording = json.loads(path.read_text(encoding="utf-8"))
    expected = recording["expected"]
    yield attempt(recording["name"], lambda: _check(recording, expected, expected.get("needsCompat")))
    if without := expected.get("withoutCompat"):
        yield attempt(f"{recording['name']} without the flag", lambda: _check(recording, without, None))


def _check(recording: dict[str, Any], expected: dict[str, Any], compat: dict[str, Any] | None) -> None:
    if not recording["streaming"] and recording["response"]["status"] == 200:
        raise Skip("not a stream: an example of a body only")
    try:
        protocol_for(recording["api"])
    except RequestError:
        raise Skip(f"nothing here speaks {recording['api']} yet") from None
    events, message = asyncio.run(replay(recording, compat))
    check_order(events)
    _check_message(message, expected)


async def replay(
    recording: dict[str, Any], compat: dict[str, Any] | None = None
) -> tuple[list[AssistantEvent], AssistantMessage]:
    """Return the events and the final message of a request that is answered with the recorded bytes."""
    response = recording["response"]
    body = base64.b64decode(response["body_base64"]) if "body_base64" in response else response["body_text"].encode()
    reply = {"status": response["status"], "headers": response["headers"], "stream": [{"raw": body}]}
    pool = HttpPool()
    try:
        with ScriptedServer([reply]) as server:
            model, options = _model(recording, server.url, compat), _options(recording)
            stream = run_request(model, _context(expected=recording["expected"]), options, pool)
            return [event async for event in stream], await stream.result()
    finally:
        await pool.aclose()


def _model(recording: dict[str, Any], url: str, compat: dict[str, Any] | None) -> Model:
    in_path = re.search(r"/models?/([^/:?]+)", recording["request"]["path"])
    name = recording["request"]["body"].get("model") or (unquote(in_path[1]) if in_path else "m1")
    return Model(
        id=name,
        name=name,
        api=recording["api"],
        provider=recording["provider"],
        base_url=url,
        reasoning=False,
        input=["text", "image"],
        cost=ModelCost(1, 2, 0.1, 0),
        context_window=200_000,
        max_tokens=8192,
        compat=compat,
    )


def _options(recording: dict[str, Any]) -> StreamOptions:
    key = {"api_key": "recorded-key"}
    if recording["api"] == "bedrock-converse-stream":
        return StreamOptions(**key, env={"AWS_BEARER_TOKEN_BEDROCK": "recorded-key", "AWS_REGION": "us-east-1"})
    return StreamOptions(**key)


def _context(expected: dict[str, Any]) -> Context:
    names = {call["name"] for call in expected.get("toolCalls", ())}
    tools = [ToolSpec(name, "A tool.", {"type": "object", "properties": {}}) for name in sorted(names)]
    return Context([UserMessage("hi", 1)], "Be brief.", tools)


# -------------------------------------------------------------------------------------------------------- checks


def check_order(events: list[AssistantEvent]) -> None:
    """Check the rules of the event protocol that hold for every stream."""
    kinds = [event.type for event in events]
    terminal = [kind for kind in kinds if kind in ("done", "error")]
    assert len(terminal) == 1, f"terminal events: {terminal}"
    assert kinds[-1] == terminal[0], f"events after the terminal one: {kinds}"
    assert kinds[0] == "start" or kinds == ["error"], f"the first event is {kinds[0]}"
    assert kinds.count("start") <= 1, "two start events"
    seen: dict[int, str] = {}
    for event in events[1:-1]:
        index, (block, _, what) = event.content_index, event.type.partition("_")  # type: ignore[union-attr]
        if what == "start":
            assert index == len(seen), f"block {index} starts after {len(seen)} others"
            seen[index] = block
        assert seen.get(index) == block, f"{event.type} of block {index}, which is {seen.get(index)}"
        if what == "end":
            seen[index] = "ended"
    assert set(seen.values()) <= {"ended"}, f"blocks without end: {seen}"


def _check_message(message: AssistantMessage, expected: dict[str, Any]) -> None:
    equal(message.stop_reason, expected["stopReason"], "stopReason")
    error = message.error_message or ""
    if message.stop_reason == "error":
        assert " ".join(expected.get("errorContains", "").split()) in error, f"errorMessage is {error!r}"
    if "httpStatus" in expected:
        assert str(expected["httpStatus"]) in error, f"no status in {error!r}"
        equal(is_retryable(error), expected["retryable"], "retryable")
        equal(is_overflow(message), expected["contextOverflow"], "contextOverflow")
        return
    if "text" not in expected:
        return
    equal(message.text, expected["text"], "text")
    thinking = [block for block in message.content if isinstance(block, ThinkingContent)]
    equal("".join(block.thinking for block in thinking if not block.redacted), expected["thinking"], "thinking")
    shown = [b for b in message.content if not (isinstance(b, TextContent) and not b.text and not b.text_signature)]
    equal([block.type for block in shown], expected["blocks"], "blocks")
    _check_calls(message.tool_calls, expected["toolCalls"])
    _check_usage(message, expected.get("usage", {}))
    if "rawStopReason" in expected:
        equal(message.raw_stop_reason, expected["rawStopReason"], "rawStopReason")
    if expected.get("responseId"):
        equal(message.response_id, expected["responseId"], "responseId")
    if message.response_model is not None:
        equal(message.response_model, expected["responseModel"], "responseModel")
    _check_opaque_values(message, expected)


def _check_calls(calls: list[ToolCall], expected: list[dict[str, Any]]) -> None:
    equal([call.name for call in calls], [call["name"] for call in expected], "names of calls")
    for call, wanted in zip(calls, expected, strict=True):
        equal(call.arguments, wanted["arguments"], "arguments")
        if wanted["id"] is None:
            assert call.id, "a call without id"
        else:
            equal(call.id, f"{wanted['id']}|{wanted['itemId']}" if "itemId" in wanted else wanted["id"], "id")
        if "namespace" in wanted:
            equal(call.namespace, wanted["namespace"], "namespace")


def _check_usage(message: AssistantMessage, expected: dict[str, Any]) -> None:
    usage = message.usage
    counters = {
        "input": usage.input,
        "output": usage.output,
        "cacheRead": usage.cache_read,
        "cacheWrite": usage.cache_write,
        "cacheWrite1h": usage.cache_write_1h or 0,
        "reasoning": usage.reasoning or 0,
        "totalTokens": usage.total_tokens,
    }
    for name, wanted in expected.items():
        if name in counters:
            equal(counters[name], wanted, f"usage.{name}")
    if "providerCostTotal" in expected:
        equal((usage.cost.total, usage.cost.total_from_provider), (expected["providerCostTotal"], True), "cost")


def _check_opaque_values(message: AssistantMessage, expected: dict[str, Any]) -> None:
    kept = _opaque_values(message)
    digests = {(len(value), hashlib.sha256(value.encode()).hexdigest()[:16]) for value in kept}
    details = expected.get("reasoningDetails", {})
    wanted = [s for s in expected.get("signatures", ()) if s.get("on") != "skipped part"]
    for signature in [*wanted, *details.get("signature", ()), *details.get("encrypted", ())]:
        assert (signature["length"], signature["sha256"]) in digests, f"lost: {signature}"
    if "reasoningField" in expected and not details:
        assert expected["reasoningField"] in kept, f"the field of the reasoning is not kept: {kept}"
    if details:
        stored = [json.loads(value) for value in kept if value.startswith("[")]
        text = "".join(entry.get("text") or "" for entries in stored for entry in entries)
        equal(len(text), details["textLength"], "length of reasoning_details")
    if "phases" in expected:
        signatures = [json.loads(b.text_signature or "{}") for b in message.content if isinstance(b, TextContent)]
        equal([s["phase"] for s in signatures if "phase" in s], expected["phases"], "phases")


def _opaque_values(message: AssistantMessage) -> list[str]:
    """Return what must go back verbatim: signatures, and the values inside of stored items and structured entries."""
    values: list[str] = []
    for block in message.content:
        match block:
            case TextContent(text_signature=str(signature)):
                values.append(signature)
            case ThinkingContent(thinking_signature=str(signature)):
                values.append(signature)
            case ToolCall(thought_signature=str(signature)):
                values.append(signature)
            case _:
                pass
    for value in list(values):
        if value.startswith(("[", "{")):
            stored = json.loads(value)
            for entry in stored if isinstance(stored, list) else [stored]:
                values += [entry[key] for key in ("signature", "data", "encrypted_content") if entry.get(key)]
    return values
