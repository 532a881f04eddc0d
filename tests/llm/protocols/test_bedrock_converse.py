"""The wire protocol of Amazon Bedrock: what is sent, and what is made of the answer."""

from __future__ import annotations

import base64
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
from piolet.llm.overflow import is_overflow
from piolet.llm.pool import HttpPool
from piolet.llm.protocols import WireRequest, protocol_for
from piolet.llm.retry import is_retryable
from piolet.llm.transport import run_request
from tests.llm.wire import answer, ask, aws, model_at
from tests.support.server import ScriptedServer

API = "bedrock-converse-stream"
PROTOCOL = protocol_for(API)
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}
TOOL = ToolSpec("read", "Reads.", SCHEMA)
IMAGE = ImageContent("AAAA", "image/png")
SENT_IMAGE = {"image": {"format": "png", "source": {"bytes": "AAAA"}}}
OPUS, SONNET, NOVA = "us.anthropic.claude-opus-4-8", "anthropic.claude-sonnet-4-5-20250929-v1:0", "amazon.nova-pro-v1:0"
MARK = {"cachePoint": {"type": "default"}}


def bedrock(model_id: str = OPUS, **fields: Any) -> Model:
    defaults = {"id": model_id, "name": model_id, "reasoning": True, "max_tokens": 32_000}
    return model_at("http://x", API, **{**defaults, **fields})


def request(model: Model, context: Context | None = None, **options: Any) -> WireRequest:
    return PROTOCOL.request(model, context or ask(), StreamOptions(**options))


def body(model: Model, context: Context | None = None, **options: Any) -> dict[str, Any]:
    return request(model, context, **options).body


class TestRequest:
    def test_a_plain_request(self) -> None:
        sent = request(bedrock(NOVA, reasoning=False), ask(tools=[TOOL]), api_key="k", temperature=0.5)
        assert sent.url == "http://x/model/amazon.nova-pro-v1%3A0/converse-stream"
        assert sent.headers == {"authorization": "Bearer k"}
        spec = {"name": "read", "description": "Reads.", "inputSchema": {"json": SCHEMA}}
        assert sent.body == {
            "messages": [{"role": "user", "content": [{"text": "hi"}]}],
            "system": [{"text": "Be brief."}],
            "inferenceConfig": {"maxTokens": 32_000, "temperature": 0.5},
            "toolConfig": {"tools": [{"toolSpec": spec}]},
        }

    @pytest.mark.parametrize(
        ("model_id", "level", "fields"),
        [
            (OPUS, "off", None),
            (
                OPUS,
                "minimal",
                {"thinking": {"type": "adaptive", "display": "summarized"}, "output_config": {"effort": "low"}},
            ),
            (
                SONNET,
                "high",
                {
                    "thinking": {"type": "enabled", "budget_tokens": 16_384},
                    "anthropic_beta": ["interleaved-thinking-2025-05-14"],
                },
            ),
            (
                "us.anthropic.claude-3-7-sonnet-20250219-v1:0",
                "low",
                {"thinking": {"type": "enabled", "budget_tokens": 2048}},
            ),
            ("openai.gpt-oss-120b-1:0", "minimal", {"reasoning_effort": "low"}),
            ("openai.gpt-oss-120b-1:0", "high", {"reasoning_effort": "high"}),
            ("us.openai.gpt-6-sol", "minimal", {"reasoning": {"effort": "low"}}),
            ("openai.gpt-5.4", "off", None),
            (NOVA, "high", None),
        ],
    )
    def test_thinking(self, model_id: str, level: Any, fields: Any) -> None:
        assert body(bedrock(model_id), reasoning=level).get("additionalModelRequestFields") == fields

    def test_a_budget_leaves_room_for_the_answer_and_excludes_temperature(self) -> None:
        sent = body(bedrock(SONNET), reasoning="medium", max_tokens=1000, temperature=0.5)
        assert sent["additionalModelRequestFields"]["thinking"]["budget_tokens"] == 8168
        assert sent["inferenceConfig"] == {"maxTokens": 9192}

    def test_what_an_inference_profile_is_tells_its_name_or_a_flag(self) -> None:
        arn = "arn:aws:bedrock:us-east-1:1:application-inference-profile/abc"
        named = body(bedrock(arn, name="Claude Opus 4.8"), reasoning="high")
        assert named["additionalModelRequestFields"]["thinking"]["type"] == "adaptive"
        assert named["system"][1] == MARK
        assert "additionalModelRequestFields" not in body(bedrock(arn), reasoning="high")
        flagged = bedrock(arn, name="Claude Next", compat={"forceAdaptiveThinking": True})
        assert body(flagged, reasoning="high")["additionalModelRequestFields"]["output_config"] == {"effort": "high"}

    def test_the_partition_of_the_government_knows_no_summaries(self) -> None:
        sent = body(bedrock(), reasoning="high", env={"AWS_REGION": "us-gov-west-1"})
        assert sent["additionalModelRequestFields"]["thinking"] == {"type": "adaptive"}

    @pytest.mark.parametrize(
        ("model_id", "short", "long"),
        [
            (OPUS, MARK, {"cachePoint": {"type": "default", "ttl": "1h"}}),
            ("anthropic.claude-opus-4-1-20250805-v1:0", MARK, MARK),
            ("anthropic.claude-3-5-haiku-20241022-v1:0", MARK, MARK),
            ("anthropic.claude-3-5-sonnet-20241022-v2:0", None, None),
            ("anthropic.claude-3-opus-20240229-v1:0", None, None),
            (NOVA, None, None),
        ],
    )
    def test_caching(self, model_id: str, short: Any, long: Any) -> None:
        for retention, mark in (("short", short), ("long", long), ("none", None)):
            sent = body(bedrock(model_id), cache_retention=retention)
            marks = [mark] if mark else []
            assert sent["system"] == [{"text": "Be brief."}, *marks]
            assert sent["messages"][-1]["content"] == [{"text": "hi"}, *marks]

    def test_caching_can_be_forced(self) -> None:
        assert body(bedrock(NOVA), env={"AWS_BEDROCK_FORCE_CACHE": "1"})["system"][1] == MARK

    @pytest.mark.parametrize(
        ("choice", "sent"), [("auto", {"auto": {}}), ("required", {"any": {}}), ("none", None), (None, None)]
    )
    def test_the_choice_of_tools(self, choice: Any, sent: Any) -> None:
        assert body(bedrock(), ask(tools=[TOOL]), tool_choice=choice)["toolConfig"].get("toolChoice") == sent

    def test_strict_tools(self) -> None:
        wanted = ToolSpec("t", " ", SCHEMA, {"type": "json_schema", "strict": "prefer"})
        model = bedrock(compat={"supportsStrictMode": True})
        one, other = (tool["toolSpec"] for tool in body(model, ask(tools=[wanted, TOOL]))["toolConfig"]["tools"])
        assert (one["strict"], one["inputSchema"]["json"]["required"]) == (True, ["path"])
        assert "description" not in one
        assert "strict" not in other

    def test_calls_in_the_history_need_tools(self) -> None:
        call = answer(ToolCall("c", "gone", {}), stop="toolUse")
        [tool] = body(bedrock(), Context([UserMessage("q", 1), call]))["toolConfig"]["tools"]
        assert (tool["toolSpec"]["name"], tool["toolSpec"]["inputSchema"]) == ("gone", {"json": {"type": "object"}})
        assert "toolConfig" not in body(bedrock(), ask())


def messages(*history: Any, model_id: str = OPUS) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = body(bedrock(model_id), Context(history), cache_retention="none")["messages"]
    return found


def reply(*blocks: Any, model_id: str = OPUS, **fields: Any) -> AssistantMessage:
    return answer(*blocks, stop="toolUse", **{"api": API, "model": model_id, **fields})


class TestHistory:
    def test_blocks_of_an_answer(self) -> None:
        blocks = (
            ThinkingContent("plan", "SIG"),
            ThinkingContent("unsigned"),
            ThinkingContent("[Reasoning redacted]", "UkVE", redacted=True),
            TextContent("a"),
            ToolCall("c", "read", {"path": "a"}),
        )
        claude, other = messages(reply(*blocks))[0], messages(reply(*blocks, model_id=NOVA), model_id=NOVA)[0]
        rest = [{"text": "a"}, {"toolUse": {"toolUseId": "c", "name": "read", "input": {"path": "a"}}}]
        redacted = {"reasoningContent": {"redactedContent": "UkVE"}}
        signed = {"reasoningContent": {"reasoningText": {"text": "plan", "signature": "SIG"}}}
        assert claude["content"] == [signed, {"text": "unsigned"}, redacted, *rest]
        unsigned = [{"reasoningContent": {"reasoningText": {"text": text}}} for text in ("plan", "unsigned")]
        assert other["content"] == [*unsigned, redacted, *rest]

    def test_user_and_assistant_take_turns(self) -> None:
        history = [
            UserMessage("a", 1),
            UserMessage([TextContent("b"), IMAGE], 1),
            reply(ToolCall("c", "read", {})),
            ToolResultMessage("c", "read", [TextContent("x")], False, 2),
            UserMessage("steer", 3),
        ]
        first, _, last = messages(*history)
        assert first == {"role": "user", "content": [{"text": "a"}, {"text": "b"}, SENT_IMAGE]}
        result = {"toolUseId": "c", "content": [{"text": "x"}], "status": "success"}
        assert last == {"role": "user", "content": [{"toolResult": result}, {"text": "steer"}]}

    def test_results_of_one_turn(self) -> None:
        calls = reply(*(ToolCall(f"c{n}", "read", {}) for n in range(3)))
        results = [
            ToolResultMessage("c0", "read", [TextContent("e"), IMAGE], True, 2),
            ToolResultMessage("c1", "read", [IMAGE], False, 2),
            ToolResultMessage("c2", "read", [], True, 2),
        ]
        content = messages(calls, *results)[1]["content"]
        assert [block["toolResult"]["status"] for block in content[:3]] == ["error", "success", "error"]
        assert [block["toolResult"]["content"] for block in content[:3]] == [
            [{"text": "e"}, {"text": "(image attached after the tool results)"}],
            [SENT_IMAGE],
            [{"text": "(no tool output)"}],
        ]
        assert content[3:] == [{"text": "Images from the failed call c0 (read):"}, SENT_IMAGE]
        other = messages(reply(*calls.content, model_id=NOVA), *results, model_id=NOVA)[1]["content"]
        assert other[0]["toolResult"]["content"] == [{"text": "e"}, SENT_IMAGE]

    def test_an_image_of_a_kind_that_is_refused_is_named(self) -> None:
        [message] = messages(UserMessage([ImageContent("AAAA", "image/bmp"), ImageContent("AAAA", "image/jpg")], 1))
        assert message["content"][0] == {"text": "(image omitted: image/bmp is not supported)"}
        assert message["content"][1]["image"]["format"] == "jpeg"


def start(index: int, call_id: str) -> tuple[str, Any]:
    return "contentBlockStart", {
        "contentBlockIndex": index,
        "start": {"toolUse": {"toolUseId": call_id, "name": "read"}},
    }


def delta(index: int, **told: Any) -> tuple[str, Any]:
    return "contentBlockDelta", {"contentBlockIndex": index, "delta": told}


def stop(index: int) -> tuple[str, Any]:
    return "contentBlockStop", {"contentBlockIndex": index}


def end(reason: str, **usage: Any) -> list[tuple[str, Any]]:
    return [("messageStop", {"stopReason": reason}), ("metadata", {"usage": usage})]


@pytest.fixture
def build(pool: HttpPool) -> Any:
    async def built(*events: tuple[str, Any], thrown: bytes = b"", **options: Any) -> AssistantMessage:
        headers = {"content-type": "application/vnd.amazon.eventstream"}
        with ScriptedServer([{"headers": headers, "stream": [{"raw": aws(*events) + thrown}]}]) as server:
            model = bedrock(base_url=server.url)
            return await run_request(model, ask(), StreamOptions(api_key="k", **options), pool).result()

    return built


class TestAnswer:
    async def test_text_thinking_and_calls(self, build: Any) -> None:
        message = await build(
            ("messageStart", {"role": "assistant"}),
            delta(0, text=""),
            delta(0, reasoningContent={"text": "pl"}),
            delta(0, reasoningContent={"text": "an"}),
            delta(0, reasoningContent={"signature": "SI"}),
            delta(0, reasoningContent={"signature": "G"}),
            stop(0),
            delta(1, text="He"),
            delta(1, text="llo"),
            stop(1),
            start(2, "c1"),
            start(3, "c2"),
            delta(3, toolUse={"input": '{"path":'}),
            delta(2, toolUse={"input": ""}),
            delta(3, toolUse={"input": '"b"}'}),
            stop(2),
            stop(3),
            ("somethingNew", {"x": 1}),
            *end(
                "tool_use",
                inputTokens=5,
                outputTokens=7,
                cacheReadInputTokens=3,
                cacheWriteInputTokens=2,
                totalTokens=17,
            ),
        )
        assert message.content == [
            ThinkingContent("plan", "SIG"),
            TextContent("Hello"),
            ToolCall("c1", "read", {}),
            ToolCall("c2", "read", {"path": "b"}),
        ]
        assert (message.stop_reason, message.raw_stop_reason) == ("toolUse", "tool_use")
        usage = message.usage
        assert (usage.input, usage.output, usage.cache_read, usage.cache_write) == (5, 7, 3, 2)
        assert (usage.total_tokens, usage.cache_write_1h) == (17, None)

    async def test_writes_to_the_cache_that_live_for_an_hour(self, build: Any) -> None:
        details = [{"ttl": "5m", "inputTokens": 1}, {"ttl": "1h", "inputTokens": 4}]
        message = await build(delta(0, text="a"), *end("end_turn", cacheWriteInputTokens=5, cacheDetails=details))
        assert (message.usage.cache_write, message.usage.cache_write_1h) == (5, 4)

    async def test_redacted_reasoning_is_kept_for_replay(self, build: Any) -> None:
        pieces = [base64.b64encode(piece).decode() for piece in (b"one", b"and two")]
        events = (delta(0, reasoningContent={"redactedContent": piece}) for piece in pieces)
        message = await build(*events, stop(0), *end("end_turn"))
        whole = base64.b64encode(b"oneand two").decode()
        assert message.content == [ThinkingContent("[Reasoning redacted]", whole, redacted=True)]

    @pytest.mark.parametrize(
        ("reason", "ended", "error"),
        [
            ("end_turn", "stop", None),
            ("stop_sequence", "stop", None),
            ("max_tokens", "length", None),
            ("model_context_window_exceeded", "length", None),
            ("guardrail_intervened", "error", "Provider stopReason: guardrail_intervened"),
        ],
    )
    async def test_reasons_to_stop(self, build: Any, reason: str, ended: str, error: str | None) -> None:
        message = await build(delta(0, text="a"), *end(reason))
        assert (message.stop_reason, message.error_message, message.text) == (ended, error, "a")

    @pytest.mark.parametrize(
        ("exception", "text", "again"),
        [
            ("internalServerException", "Internal server error: boom", True),
            ("modelStreamErrorException", "Model stream error: boom", False),
            ("validationException", "Validation error: boom", False),
            ("throttlingException", "Throttling error: boom", True),
            ("serviceUnavailableException", "Service unavailable: boom", True),
            ("newException", "newException: boom", False),
        ],
    )
    async def test_exceptions_within_the_stream(self, build: Any, exception: str, text: str, again: bool) -> None:
        message = await build(delta(0, text="a"), thrown=aws((exception, {"message": "boom"}), kind="exception"))
        assert (message.stop_reason, message.error_message, message.text) == ("error", text, "a")
        assert is_retryable(text) == again

    async def test_a_refused_request_is_called_by_its_exception(self, pool: HttpPool) -> None:
        told = {"message": "Too many tokens, please wait before trying again."}
        name = {"x-amzn-errortype": "ThrottlingException:http://internal.amazon.com/coral/com.amazon.bedrock/"}
        with ScriptedServer([{"status": 429, "headers": name, "json": told}]) as server:
            options = StreamOptions(api_key="k")
            message = await run_request(bedrock(base_url=server.url), ask(), options, pool).result()
        assert message.error_message == f'Throttling error: 429: {{"message":"{told["message"]}"}}'
        assert is_retryable(message.error_message)
        assert not is_overflow(message)

    async def test_calls_that_the_service_makes_itself_are_not_ours(self, build: Any) -> None:
        begun = start(0, "s")
        begun[1]["start"]["toolUse"]["type"] = "server_tool_use"
        found = "contentBlockStart", {"contentBlockIndex": 1, "start": {"toolResult": {"toolUseId": "s"}}}
        events = (begun, delta(0, toolUse={"input": "{}"}), stop(0), found, delta(1, toolResult=[{}]), stop(1))
        message = await build(*events, delta(2, text="a"), *end("end_turn"))
        assert message.content == [TextContent("a")]

    async def test_a_stream_without_its_end_is_an_error(self, build: Any) -> None:
        assert (await build(delta(0, text="a"))).error_message == "Stream ended before messageStop"
        assert (await build(delta(0, text="a"), ("metadata", {"usage": {}}))).stop_reason == "error"

    async def test_a_call_that_never_ended_is_not_run(self, build: Any) -> None:
        message = await build(start(0, "c"), delta(0, toolUse={"input": "{}"}), *end("tool_use"))
        assert message.error_message == "Stream ended before the call of read was complete"

    async def test_the_effort_is_noted(self, build: Any) -> None:
        message = await build(delta(0, text="a"), *end("end_turn"), reasoning="minimal")
        assert (message.thinking_level, message.provider_thinking_level) == ("minimal", "low")
