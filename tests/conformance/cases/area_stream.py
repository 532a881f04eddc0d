"""Cases of streams: an HTTP answer, byte for byte, and what a client of the named API makes of it."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Iterator, Mapping
from typing import Any

from piolet.llm.arguments import parse_final
from piolet.llm.errors import RequestError
from piolet.llm.messages import AssistantMessage, TextContent, ThinkingContent
from piolet.llm.model import StreamOptions
from piolet.llm.pool import HttpPool
from piolet.llm.protocols import protocol_for
from piolet.llm.retry import is_retryable
from piolet.llm.transport import run_request
from tests.conformance.cassettes import check_order
from tests.conformance.outcome import Skip, equal
from tests.llm.wire import ask, model_at
from tests.support.server import Reply, ScriptedServer

KEYS = frozenset(
    (
        "stop",
        "stop_in",
        "text",
        "thinking",
        "calls",
        "no_call_with_args",
        "first_block",
        "usage_total",
        "retryable",
        "error_contains",
        "error_max_chars",
        "one_of",
    )
)


def check_case(case: Mapping[str, Any]) -> None:
    given, expected = case["input"], case["expected"]
    if given.get("function") == "parse_final_arguments":
        equal([_final_arguments(text) for text in given["rows"]], expected["result"])
        return
    if "chunks" not in given:
        raise Skip(f"nothing here does {given.get('function') or given.get('run')!r}")
    if unknown := expected.keys() - KEYS:
        raise Skip(f"nothing here checks {', '.join(sorted(unknown))}")
    api = case["setup"]["api"]
    try:
        protocol_for(api)
    except RequestError:
        raise Skip(f"nothing here speaks {api} yet") from None
    check_expected(asyncio.run(_answer(api, case["setup"], given)), expected)


def _final_arguments(text: str) -> Any:
    arguments, problem = parse_final(text)
    return "error" if problem else arguments


async def _answer(api: str, setup: Mapping[str, Any], given: Mapping[str, Any]) -> AssistantMessage:
    model = {"reasoning": bool(setup.get("reasoning")), "compat": setup.get("compat") or None}
    pool = HttpPool()
    try:
        with ScriptedServer([_reply(given)]) as server:
            stream = run_request(model_at(server.url, api, **model), ask(), StreamOptions(api_key="k"), pool)
            check_order([event async for event in stream])
            return await stream.result()
    finally:
        await pool.aclose()


def _reply(given: Mapping[str, Any]) -> Reply:
    steps: list[dict[str, Any]] = []
    for chunk in given["chunks"]:
        if delay := chunk.get("delay_ms"):
            steps.append({"sleep_ms": delay})
        steps += ({"raw": piece} for piece in pieces(chunk))
    if given.get("close") == "reset":
        steps.append({"reset": True})
    return {"status": given["status"], "headers": given.get("headers", {}), "stream": steps}


def pieces(chunk: Mapping[str, Any]) -> Iterator[bytes]:
    if "b64" in chunk:
        yield base64.b64decode(chunk["b64"])
    elif chunk["text"].startswith("@each_byte:"):
        yield from (bytes([byte]) for byte in chunk["text"].removeprefix("@each_byte:").encode())
    else:
        yield chunk["text"].encode()


def check_expected(message: AssistantMessage, expected: Mapping[str, Any]) -> None:
    """Raise unless the final message is as `expected` says."""
    if "one_of" in expected:
        _check_one_of(message, expected["one_of"])
    if "stop" in expected:
        equal(message.stop_reason, expected["stop"], "stop")
    if "stop_in" in expected:
        assert message.stop_reason in expected["stop_in"], f"stop: {message.stop_reason}"
    if "text" in expected:
        equal(message.text, expected["text"], "text")
    if "thinking" in expected:
        thinking = [block.thinking for block in message.content if isinstance(block, ThinkingContent)]
        equal("".join(thinking), expected["thinking"], "thinking")
    if "calls" in expected:
        equal([[call.id, call.name, call.arguments] for call in message.tool_calls], expected["calls"], "calls")
    if "no_call_with_args" in expected:
        assert expected["no_call_with_args"] not in [call.arguments for call in message.tool_calls]
    if "first_block" in expected:
        shown = [b for b in message.content if not (isinstance(b, TextContent) and not b.text)]
        equal(shown[0].type, expected["first_block"], "first_block")
    if "usage_total" in expected:
        equal(message.usage.total_tokens, expected["usage_total"], "usage_total")
    error = message.error_message or ""
    if "retryable" in expected:
        equal(is_retryable(error), expected["retryable"], f"retryable ({error})")
    for piece in expected.get("error_contains", ()):
        assert piece in error, f"error: {error!r}"
    if "error_max_chars" in expected:
        assert len(error) <= expected["error_max_chars"], f"{len(error)} characters of error"


def _check_one_of(message: AssistantMessage, choices: list[dict[str, Any]]) -> None:
    problems = []
    for choice in choices:
        try:
            check_expected(message, choice)
        except AssertionError as error:
            problems.append(str(error))
        else:
            return
    raise AssertionError("; ".join(problems))
