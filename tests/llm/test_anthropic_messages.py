"""The wire protocol of Anthropic's messages: what is sent, and what is made of the answer."""

from __future__ import annotations

from typing import Any

import pytest

from piolet.llm.messages import (
    AssistantMessage,
    ImageContent,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from piolet.llm.model import Context, Model, StreamOptions, ToolSpec
from piolet.llm.pool import HttpPool
from piolet.llm.protocols import WireRequest, protocol_for
from piolet.llm.transport import run_request
from tests.llm.wire import answer, ask, fold, model_at, result
from tests.support.replies import Call, Thinking, anthropic
from tests.support.server import ScriptedServer

API = "anthropic-messages"
PROTOCOL = protocol_for(API)
TOOL = ToolSpec("read", "Reads.", {"type": "object", "properties": {"path": {"type": "string"}}})
IMAGE = ImageContent("AAAA", "image/png")
SENT_IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
FALLBACK = {"provider": "stub", "model": "m0", "cost": {"input": 5, "output": 25, "cacheRead": 0.5, "cacheWrite": 6}}
MARK = {"cache_control": {"type": "ephemeral"}}


def claude(**fields: Any) -> Model:
    return model_at("http://x", API, **{"context_window": 200_000, "max_tokens": 32_000, "reasoning": True, **fields})


def request(model: Model, context: Context | None = None, **options: Any) -> WireRequest:
    return PROTOCOL.request(model, context or ask(), StreamOptions(**options))


def body(model: Model, context: Context | None = None, **options: Any) -> dict[str, Any]:
    return request(model, context, **options).body


def reply(*blocks: Any, stop: Any = "stop", **fields: Any) -> AssistantMessage:
    return answer(*blocks, stop=stop, **{"api": API, **fields})


class TestRequest:
    def test_a_plain_request(self) -> None:
        sent = request(claude(reasoning=False), ask(tools=[TOOL]), api_key="k")
        assert sent.url == "http://x/v1/messages"
        assert sent.headers == {"anthropic-version": "2023-06-01", "x-api-key": "k"}
        assert sent.body == {
            "model": "m1",
            "messages": [{"role": "user", "content": [{"type": "text", "text": "hi", **MARK}]}],
            "stream": True,
            "max_tokens": 32_000,
            "system": [{"type": "text", "text": "Be brief.", **MARK}],
            "tools": [
                {
                    "name": "read",
                    "description": "Reads.",
                    "eager_input_streaming": True,
                    "input_schema": TOOL.parameters,
                    **MARK,
                }
            ],
        }

    def test_a_token_of_a_login_is_a_bearer(self) -> None:
        headers = request(claude(), api_key="sk-ant-oat01-x").headers
        assert headers["authorization"] == "Bearer sk-ant-oat01-x"
        assert "x-api-key" not in headers

    @pytest.mark.parametrize(("choice", "sent"), [("auto", "auto"), ("none", "none"), ("required", "any")])
    def test_the_choice_of_tools(self, choice: Any, sent: str) -> None:
        assert body(claude(), ask(tools=[TOOL]), tool_choice=choice)["tool_choice"] == {"type": sent}

    def test_the_user_is_named_and_other_metadata_is_not_sent(self) -> None:
        sent = body(claude(), metadata={"user_id": "u", "other": 1})
        assert sent["metadata"] == {"user_id": "u"}

    def test_temperature_only_without_thinking(self) -> None:
        assert body(claude(), temperature=0.5)["temperature"] == 0.5
        assert "temperature" not in body(claude(), temperature=0.5, reasoning="low")
        assert "temperature" not in body(claude(compat={"supportsTemperature": False}), temperature=0.5)

    @pytest.mark.parametrize(
        ("level", "fields", "thinking", "limit"),
        [
            (None, {}, {"type": "disabled"}, 32_000),
            ("minimal", {}, {"type": "enabled", "budget_tokens": 1024}, 32_000),
            ("high", {}, {"type": "enabled", "budget_tokens": 16_384}, 32_000),
            ("high", {"max_tokens": 8192}, {"type": "enabled", "budget_tokens": 7168}, 8192),
            ("high", {"max_tokens": 1000}, None, 1000),
            ("high", {"reasoning": False}, None, 32_000),
        ],
    )
    def test_a_budget_for_thinking(self, level: Any, fields: dict[str, Any], thinking: Any, limit: int) -> None:
        sent = body(claude(**fields), reasoning=level)
        assert (sent.get("thinking"), sent["max_tokens"]) == (thinking, limit)

    def test_a_budget_comes_on_top_of_the_limit_of_the_caller(self) -> None:
        sent = body(claude(), reasoning="medium", max_tokens=1000)
        assert (sent["thinking"]["budget_tokens"], sent["max_tokens"]) == (8168, 9192)

    @pytest.mark.parametrize(
        ("level", "word"),
        [("minimal", "low"), ("low", "low"), ("medium", "medium"), ("high", "high"), ("xhigh", "max")],
    )
    def test_adaptive_models_are_asked_for_an_effort(self, level: Any, word: str) -> None:
        model = claude(compat={"forceAdaptiveThinking": True}, thinking_level_map={"xhigh": "max"})
        sent = request(model, reasoning=level)
        assert sent.body["thinking"] == {"type": "adaptive", "display": "summarized"}
        assert sent.body["output_config"] == {"effort": word}
        assert "anthropic-beta" not in sent.headers

    def test_an_effort_that_changes_leaves_the_beginning_of_the_request_as_it_was(self) -> None:
        model = claude(compat={"forceAdaptiveThinking": True, "supportsMidConvoEffort": True})
        first, second = UserMessage("a", 1), UserMessage("b", 3)
        asked = request(model, Context([first]), reasoning="high")
        assert asked.body["output_config"] == {"effort": "low"}
        assert asked.body["thinking"]["block_binding"] == {"prefix_mismatch_behavior": "drop_block"}
        own = reply(TextContent("A"), provider_thinking_level="high")
        foreign = reply(TextContent("B"), provider_thinking_level="high", model="other")
        again = request(model, Context([first, own, second, foreign, second]), reasoning="low")
        efforts = [
            message.get("output_config", {}).get("effort", message["role"]) for message in again.body["messages"]
        ]
        assert efforts == ["user", "high", "assistant", "user", "assistant", "user", "low"]
        assert again.body["messages"][1] == asked.body["messages"][1]
        assert again.body["output_config"] == asked.body["output_config"]
        off = request(model, Context([first, own, second]))
        assert [message["role"] for message in off.body["messages"]] == ["user", "assistant", "user"]
        assert off.body["thinking"] == {"type": "disabled"}

    def test_betas(self) -> None:
        lazy = claude(compat={"supportsEagerToolInputStreaming": False})
        sent = request(lazy, ask(tools=[TOOL]), reasoning="high")
        assert (
            sent.headers["anthropic-beta"] == "fine-grained-tool-streaming-2025-05-14,interleaved-thinking-2025-05-14"
        )
        assert "eager_input_streaming" not in sent.body["tools"][0]
        assert "anthropic-beta" not in request(claude(), ask(tools=[TOOL])).headers

    def test_models_that_may_answer_instead(self) -> None:
        sent = request(claude(compat={"allowedFallbackModels": [FALLBACK]}))
        assert sent.body["fallbacks"] == [{"model": "m0"}]
        assert sent.headers["anthropic-beta"] == "server-side-fallback-2026-07-01"

    def test_caching(self) -> None:
        long = body(claude(), ask(tools=[TOOL]), cache_retention="long")
        assert long["system"][0]["cache_control"] == {"type": "ephemeral", "ttl": "1h"}
        short = claude(compat={"supportsLongCacheRetention": False, "supportsCacheControlOnTools": False})
        sent = body(short, ask(tools=[TOOL]), cache_retention="long")
        assert sent["system"][0]["cache_control"] == {"type": "ephemeral"}
        assert "cache_control" not in sent["tools"][0]
        assert "cache_control" not in str(body(claude(), ask(tools=[TOOL]), cache_retention="none"))

    @pytest.mark.parametrize(("form", "name"), [("openai", "x-session-affinity"), ("openrouter", "x-session-id")])
    def test_headers_that_keep_a_session_together(self, form: str, name: str) -> None:
        compat = {"sendSessionAffinityHeaders": True, "sessionAffinityFormat": form}
        assert request(claude(compat=compat), session_id="s").headers[name] == "s"
        assert name not in request(claude(), session_id="s").headers

    def test_strict_tools(self) -> None:
        wanted = ToolSpec("t", "d", TOOL.parameters, {"type": "json_schema", "strict": "prefer"})
        sent = body(claude(compat={"supportsStrictTools": True}), ask(tools=[wanted, TOOL]))["tools"]
        assert (sent[0]["strict"], sent[0]["input_schema"]["required"]) == (True, ["path"])
        assert "strict" not in sent[1]


class TestHistory:
    def sent(self, *messages: Any, **compat: Any) -> list[dict[str, Any]]:
        context = Context([UserMessage("q", 1), *messages])
        found: list[dict[str, Any]] = body(claude(compat=compat), context, cache_retention="none")["messages"]
        assert found[0] == {"role": "user", "content": "q"}
        return found[1:]

    def test_blocks_of_an_answer(self) -> None:
        message = reply(
            ThinkingContent("plan", "SIG"),
            ThinkingContent("no signature"),
            ThinkingContent("[Reasoning redacted]", "RED", redacted=True),
            TextContent("a"),
            TextContent("  "),
            ToolCall("c", "read", {"path": "a"}),
            stop="toolUse",
        )
        expected = [
            {"type": "thinking", "thinking": "plan", "signature": "SIG"},
            {"type": "text", "text": "no signature"},
            {"type": "redacted_thinking", "data": "RED"},
            {"type": "text", "text": "a"},
            {"type": "tool_use", "id": "c", "name": "read", "input": {"path": "a"}},
        ]
        assert self.sent(message)[0]["content"] == expected
        unsigned = {"type": "thinking", "thinking": "no signature", "signature": ""}
        assert self.sent(message, allowEmptySignature=True)[0]["content"][1] == unsigned

    def test_results_of_one_turn_are_one_message(self) -> None:
        calls = reply(*(ToolCall(f"c{n}", "read", {}) for n in range(3)), stop="toolUse")
        results = [
            ToolResultMessage("c0", "read", [TextContent("x"), TextContent("y")], False, 2),
            ToolResultMessage("c1", "read", [IMAGE], False, 2),
            ToolResultMessage("c2", "read", [], True, 2),
        ]
        sent = self.sent(calls, *results, UserMessage("next", 3))
        assert [message["role"] for message in sent] == ["assistant", "user", "user"]
        seen = {"type": "text", "text": "(see attached image)"}
        assert [(block["content"], block["is_error"]) for block in sent[1]["content"]] == [
            ("x\ny", False),
            ([seen, SENT_IMAGE], False),
            ("(no tool output)", True),
        ]

    def test_pictures_of_failed_calls_follow_behind_all_results(self) -> None:
        calls = reply(ToolCall("c0", "read", {}), ToolCall("c1", "read", {}), stop="toolUse")
        results = [
            ToolResultMessage("c0", "read", [TextContent("e"), IMAGE], True, 2),
            ToolResultMessage("c1", "read", [TextContent("ok")], False, 2),
        ]
        blocks = self.sent(calls, *results)[1]["content"]
        assert [block["type"] for block in blocks] == ["tool_result", "tool_result", "text", "image"]
        assert blocks[0]["content"] == "e\n(image attached after the tool results)"
        assert "c0" in blocks[2]["text"]

    def test_a_mark_on_the_last_result(self) -> None:
        call = reply(ToolCall("c", "read", {}), stop="toolUse")
        context = Context([UserMessage("q", 1), call, ToolResultMessage("c", "read", [TextContent("x")], False, 2)])
        sent = body(claude(), context)["messages"]
        assert sent[2]["content"][-1]["cache_control"] == {"type": "ephemeral"}
        assert sent[0]["content"] == "q"


def start(**usage: int) -> dict[str, Any]:
    message = {"id": "msg", "model": "m1", "usage": {"input_tokens": 5, "output_tokens": 1, **usage}}
    return {"type": "message_start", "message": message}


def block(index: int, first: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"type": "content_block_start", "index": index, "content_block": first},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def text(index: int, *pieces: str) -> list[dict[str, Any]]:
    return block(index, {"type": "text", "text": ""}, *({"type": "text_delta", "text": piece} for piece in pieces))


def end(reason: str | None, usage: dict[str, Any] | None = None, **delta: Any) -> list[dict[str, Any]]:
    told = {"stop_reason": reason, **delta}
    return [{"type": "message_delta", "delta": told, "usage": usage or {}}, {"type": "message_stop"}]


def build(*records: Any) -> AssistantMessage:
    return result(fold(PROTOCOL.builder(claude(), ask(), StreamOptions()), *records))


class TestAnswer:
    async def test_an_answer_streams_as_events_and_ends_as_a_message(self, pool: HttpPool) -> None:
        script = [anthropic(Thinking("Let me think.", "SIG"), "Reading.", Call("read", {"path": "a"}))]
        with ScriptedServer(script) as server:
            stream = run_request(model_at(server.url, API), ask(), StreamOptions(api_key="k"), pool)
            types = [event.type async for event in stream]
            message = await stream.result()
        assert [kind for kind in types if not kind.endswith("_delta")] == [
            "start",
            "thinking_start",
            "thinking_end",
            "text_start",
            "text_end",
            "toolcall_start",
            "toolcall_end",
            "done",
        ]
        assert message.content == [
            ThinkingContent("Let me think.", "SIG"),
            TextContent("Reading."),
            ToolCall("call_1", "read", {"path": "a"}),
        ]
        assert server.requests[0].path == "/v1/messages"

    @pytest.mark.parametrize(
        ("reason", "stop"),
        [("end_turn", "stop"), ("stop_sequence", "stop"), ("pause_turn", "stop"), ("max_tokens", "length")],
    )
    def test_reasons_to_stop(self, reason: str, stop: str) -> None:
        message = build(start(), *text(0, "A"), *end(reason))
        assert (message.stop_reason, message.raw_stop_reason) == (stop, reason)

    def test_a_refusal_is_an_error_with_its_explanation(self) -> None:
        message = build(start(), *text(0, "A"), *end("refusal", stop_details={"explanation": "not ok"}))
        assert (message.stop_reason, message.error_message, message.text) == ("error", "not ok", "A")
        other = build(start(), *end("sensitive"))
        assert other.error_message == "Provider stopped with: sensitive"

    def test_a_stream_without_its_end_is_an_error(self) -> None:
        assert build(start(), *text(0, "A")).error_message == "Stream ended before message_stop"
        assert build(start(), {"type": "message_stop"}).stop_reason == "error"

    def test_a_call_that_never_ended_is_not_run(self) -> None:
        opened = block(0, {"type": "tool_use", "id": "t", "name": "bash"})[:1]
        message = build(start(), *opened, *end("tool_use"))
        assert message.stop_reason == "error"
        assert "bash" in (message.error_message or "")

    def test_counters_that_are_told_later_replace_the_first(self) -> None:
        first = start(cache_read_input_tokens=3, cache_creation_input_tokens=4)
        first["message"]["usage"]["cache_creation"] = {"ephemeral_1h_input_tokens": 2}
        later = {"output_tokens": 30, "input_tokens": None, "output_tokens_details": {"thinking_tokens": 9}}
        usage = build(first, *text(0, "A"), *end("end_turn", later)).usage
        assert (usage.input, usage.output, usage.cache_read, usage.cache_write) == (5, 30, 3, 4)
        assert (usage.cache_write_1h, usage.reasoning, usage.total_tokens) == (2, 9, 42)

    @pytest.mark.parametrize(("answered_by", "cost"), [("m0", 5.0), ("m1", 1.0), ("m2", 1.0)])
    def test_an_answer_of_a_fallback_costs_what_that_one_costs(self, answered_by: str, cost: float) -> None:
        model = claude(compat={"allowedFallbackModels": [FALLBACK, {**FALLBACK, "provider": "other", "model": "m2"}]})
        begun = start(input_tokens=1_000_000)
        begun["message"]["model"] = answered_by
        builder = PROTOCOL.builder(model, ask(), StreamOptions())
        assert result(fold(builder, begun, *text(0, "A"), *end("end_turn"))).usage.cost.input == cost

    def test_counters_before_an_error_are_kept(self) -> None:
        error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
        message = build(start(), *text(0, "A"), error)
        assert (message.stop_reason, message.usage.input, message.text) == ("error", 5, "A")
        assert message.error_message == '{"type":"overloaded_error","message":"Overloaded"}'

    def test_blocks_may_interleave_and_kinds_that_are_not_ours_are_skipped(self) -> None:
        thinking = block(0, {"type": "thinking", "thinking": ""}, {"type": "thinking_delta", "thinking": "t"})
        signature = {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "S"}}
        call = block(
            1, {"type": "tool_use", "id": "c", "name": "t"}, {"type": "input_json_delta", "partial_json": "{}"}
        )
        server_tool = block(
            2, {"type": "server_tool_use", "id": "s"}, {"type": "input_json_delta", "partial_json": "{"}
        )
        message = build(
            start(), *thinking[:-1], *server_tool, *call[:-1], signature, thinking[-1], call[-1], *end("tool_use")
        )
        assert message.content == [ThinkingContent("t", "S"), ToolCall("c", "t", {})]

    def test_redacted_thinking_is_kept_for_replay(self) -> None:
        message = build(start(), *block(0, {"type": "redacted_thinking", "data": "RED"}), *end("end_turn"))
        assert message.content == [ThinkingContent("[Reasoning redacted]", "RED", redacted=True)]

    def test_text_and_arguments_that_come_with_the_start_of_a_block(self) -> None:
        begun = block(0, {"type": "text", "text": "pre"}, {"type": "text_delta", "text": "fix"})
        whole = block(1, {"type": "tool_use", "id": "c", "name": "t", "input": {"a": 1}})
        streamed = {"type": "input_json_delta", "partial_json": '{"b":2}'}
        both = block(2, {"type": "tool_use", "id": "d", "name": "t", "input": {"a": 1}}, streamed)
        message = build(start(), *begun, *whole, *both, *end("tool_use"))
        assert message.content == [TextContent("prefix"), ToolCall("c", "t", {"a": 1}), ToolCall("d", "t", {"b": 2})]

    def test_the_effort_is_noted(self) -> None:
        model = claude(compat={"forceAdaptiveThinking": True})
        options = StreamOptions(reasoning="minimal")
        message = result(fold(PROTOCOL.builder(model, ask(), options), start(), *text(0, "A"), *end("end_turn")))
        assert (message.thinking_level, message.provider_thinking_level) == ("minimal", "low")
