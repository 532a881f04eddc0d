"""The wire protocol of Google's generative AI: what is sent, and what is made of the answer."""

from __future__ import annotations

from typing import Any

import pytest

from piolet.llm.errors import RequestError
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
from piolet.llm.protocols import WireRequest, protocol_for
from tests.llm.wire import answer, ask, fold, model_at, result

API = "google-generative-ai"
PROTOCOL = protocol_for(API)
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}
TOOL = ToolSpec("read", "Reads.", SCHEMA)
IMAGE = ImageContent("AAAA", "image/png")
SENT_IMAGE = {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}
SIGNATURE = "c2lnbmF0dXJl"
OLD, NEW = "gemini-2.5-flash", "gemini-3.1-pro"


def gemini(model_id: str = NEW, **fields: Any) -> Model:
    return model_at("http://x/v1beta", API, **{"id": model_id, "reasoning": True, **fields})


def request(model: Model, context: Context | None = None, **options: Any) -> WireRequest:
    return PROTOCOL.request(model, context or ask(), StreamOptions(**options))


def body(model: Model, context: Context | None = None, **options: Any) -> dict[str, Any]:
    return request(model, context, **options).body


class TestRequest:
    def test_a_plain_request(self) -> None:
        sent = request(gemini(OLD, reasoning=False), ask(tools=[TOOL]), api_key="k", temperature=0.5)
        assert sent.url == f"http://x/v1beta/models/{OLD}:streamGenerateContent?alt=sse"
        assert sent.headers == {"x-goog-api-key": "k"}
        assert sent.body == {
            "contents": [{"role": "user", "parts": [{"text": "hi"}]}],
            "generationConfig": {"maxOutputTokens": 8192, "temperature": 0.5},
            "systemInstruction": {"parts": [{"text": "Be brief."}]},
            "tools": [
                {"functionDeclarations": [{"name": "read", "description": "Reads.", "parametersJsonSchema": SCHEMA}]}
            ],
        }

    def test_an_id_may_be_a_path(self) -> None:
        assert request(gemini("tunedModels/mine")).url.startswith("http://x/v1beta/tunedModels/mine:stream")

    @pytest.mark.parametrize(
        ("model", "level", "config"),
        [
            (OLD, "off", {"thinkingBudget": 0}),
            ("gemini-2.5-pro", "off", {"thinkingBudget": 128}),
            (OLD, "minimal", {"includeThoughts": True, "thinkingBudget": 128}),
            (OLD, "high", {"includeThoughts": True, "thinkingBudget": 24576}),
            ("gemini-2.5-flash-lite", "minimal", {"includeThoughts": True, "thinkingBudget": 512}),
            ("gemini-2.5-pro", "high", {"includeThoughts": True, "thinkingBudget": 32768}),
            ("gemini-2.0-x", "low", {"includeThoughts": True, "thinkingBudget": -1}),
            (NEW, "low", {"includeThoughts": True, "thinkingLevel": "LOW"}),
            ("gemma-4-31b-it", "medium", {"includeThoughts": True, "thinkingLevel": "MEDIUM"}),
            ("gemini-flash-latest", "minimal", {"includeThoughts": True, "thinkingLevel": "MINIMAL"}),
        ],
    )
    def test_thinking(self, model: str, level: Any, config: dict[str, Any]) -> None:
        assert body(gemini(model), reasoning=level)["generationConfig"]["thinkingConfig"] == config

    def test_levels_and_budgets_of_the_model_and_the_caller(self) -> None:
        words = {"off": None, "minimal": None, "low": "low", "high": "xtra"}
        sent = body(gemini("robot-1", thinking_level_map=words), reasoning="high")
        assert sent["generationConfig"]["thinkingConfig"]["thinkingLevel"] == "XTRA"
        sent = body(gemini(OLD), reasoning="low", thinking_budgets={"low": 99})
        assert sent["generationConfig"]["thinkingConfig"]["thinkingBudget"] == 99

    @pytest.mark.parametrize(("choice", "mode"), [("auto", "AUTO"), ("none", "NONE"), ("required", "ANY")])
    def test_the_choice_of_tools(self, choice: Any, mode: str) -> None:
        config = body(gemini(), ask(tools=[TOOL]), tool_choice=choice)["toolConfig"]
        assert config == {"functionCallingConfig": {"mode": mode}}
        assert "toolConfig" not in body(gemini(), ask(), tool_choice=choice)

    def test_strict_tools_are_validated_from_the_third_generation_on(self) -> None:
        wanted = ToolSpec("t", "d", SCHEMA, {"type": "json_schema", "strict": "prefer"})
        sent = body(gemini(), ask(tools=[wanted]))
        assert sent["toolConfig"] == {"functionCallingConfig": {"mode": "VALIDATED"}}
        assert sent["tools"][0]["functionDeclarations"][0]["parametersJsonSchema"]["required"] == ["path"]
        assert "toolConfig" not in body(gemini(OLD), ask(tools=[wanted]))
        required = ToolSpec("t", "d", SCHEMA, {"type": "json_schema", "strict": "require"})
        with pytest.raises(RequestError, match="requires constrained sampling"):
            body(gemini(OLD), ask(tools=[required]))

    def test_constants_become_choices(self) -> None:
        schema = {"type": "object", "properties": {"const": {"const": "a"}, "b": {"anyOf": [{"const": 1}]}}}
        [tool] = body(gemini(OLD), ask(tools=[ToolSpec("t", "d", schema)]))["tools"][0]["functionDeclarations"]
        assert tool["parametersJsonSchema"]["properties"] == {"const": {"enum": ["a"]}, "b": {"anyOf": [{"enum": [1]}]}}
        assert schema["properties"] == {"const": {"const": "a"}, "b": {"anyOf": [{"const": 1}]}}


def reply(*blocks: Any, **fields: Any) -> AssistantMessage:
    return answer(*blocks, stop="toolUse", **{"api": API, "model": NEW, **fields})


def contents(*messages: Any, model: str = NEW) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = body(gemini(model), Context(messages))["contents"]
    return found


class TestHistory:
    def test_signatures_go_back_where_they_came_from(self) -> None:
        message = reply(
            ThinkingContent("plan", SIGNATURE),
            ThinkingContent("unsigned"),
            TextContent("a", SIGNATURE),
            TextContent("", SIGNATURE),
            ToolCall("c", "read", {"path": "a"}, SIGNATURE),
            ToolCall("d", "read", {}),
        )
        assert contents(message)[0] == {
            "role": "model",
            "parts": [
                {"text": "plan", "thought": True, "thoughtSignature": SIGNATURE},
                {"text": "unsigned", "thought": True},
                {"text": "a", "thoughtSignature": SIGNATURE},
                {"text": "", "thoughtSignature": SIGNATURE},
                {"functionCall": {"name": "read", "args": {"path": "a"}, "id": "c"}, "thoughtSignature": SIGNATURE},
                {"functionCall": {"name": "read", "args": {}, "id": "d"}},
            ],
        }

    def test_what_is_no_base64_is_no_signature(self) -> None:
        parts = contents(reply(TextContent("a", "no base64!"), TextContent("b", "AAA"), TextContent("c", "AAAA")))[0]
        assert [part.get("thoughtSignature") for part in parts["parts"]] == [None, None, "AAAA"]

    def test_the_first_call_of_another_model_says_that_it_is_not_signed(self) -> None:
        calls = reply(ToolCall("c", "read", {}, SIGNATURE), ToolCall("d", "read", {}), model="other")
        signed = [part.get("thoughtSignature") for part in contents(calls)[0]["parts"]]
        assert signed == ["skip_thought_signature_validator", None]
        assert "thoughtSignature" not in str(contents(calls, model=OLD))

    @pytest.mark.parametrize(
        ("model", "sent"), [(NEW, True), ("claude-x", True), ("gpt-oss-120b", True), (OLD, False), ("gemma-4", False)]
    )
    def test_ids_go_to_the_models_that_need_them(self, model: str, sent: bool) -> None:
        call, result = contents(reply(ToolCall("a.1", "read", {}), model="x"), model=model)
        ids = call["parts"][0]["functionCall"].get("id"), result["parts"][0]["functionResponse"].get("id")
        assert ids == (("a_1", "a_1") if sent else (None, None))

    def test_results_of_one_turn_are_one_message(self) -> None:
        calls = reply(*(ToolCall(f"c{n}", "read", {}, SIGNATURE) for n in range(3)))
        results = [
            ToolResultMessage("c0", "read", [TextContent("x"), IMAGE], False, 2),
            ToolResultMessage("c1", "read", [IMAGE], True, 2),
            ToolResultMessage("c2", "read", [], False, 2),
        ]
        _, told, asked = contents(calls, *results, UserMessage([TextContent("q"), IMAGE], 3))
        assert told == {
            "role": "user",
            "parts": [
                {"functionResponse": {"name": "read", "response": {"output": "x"}, "id": "c0", "parts": [SENT_IMAGE]}},
                {
                    "functionResponse": {
                        "name": "read",
                        "response": {"error": "(see attached image)"},
                        "id": "c1",
                        "parts": [SENT_IMAGE],
                    }
                },
                {"functionResponse": {"name": "read", "response": {"output": "(no tool output)"}, "id": "c2"}},
            ],
        }
        assert asked == {"role": "user", "parts": [{"text": "q"}, SENT_IMAGE]}
        _, told, images, _ = contents(calls, *results, UserMessage("q", 3), model=OLD)
        assert [list(part) for part in told["parts"]] == [["functionResponse"]] * 3
        assert images == {"role": "user", "parts": [{"text": "Tool result image:"}, SENT_IMAGE, SENT_IMAGE]}


def chunk(*parts: dict[str, Any], finish: str | None = None, **fields: Any) -> dict[str, Any]:
    candidate = {"content": {"role": "model", "parts": list(parts)}, **({"finishReason": finish} if finish else {})}
    return {"candidates": [candidate], "responseId": "r1", "modelVersion": NEW, **fields}


def call(name: str = "read", **fields: Any) -> dict[str, Any]:
    return {"functionCall": {"name": name, "args": {"path": "a"}, **fields}}


def build(*records: Any) -> AssistantMessage:
    return result(fold(PROTOCOL.builder(gemini(), ask(), StreamOptions()), *records))


class TestAnswer:
    def test_parts_of_one_kind_are_one_block(self) -> None:
        message = build(
            chunk({"text": "pl", "thought": True}),
            chunk({"text": "an", "thought": True, "thoughtSignature": SIGNATURE}),
            chunk({"text": "He"}, {"text": ""}),
            chunk({"text": "llo"}, {"executableCode": {}}),
            chunk({**call(id="c1"), "thoughtSignature": SIGNATURE}, {"text": "more"}, finish="STOP"),
        )
        assert message.content == [
            ThinkingContent("plan", SIGNATURE),
            TextContent("Hello"),
            ToolCall("c1", "read", {"path": "a"}, SIGNATURE),
            TextContent("more"),
        ]
        assert (message.stop_reason, message.raw_stop_reason) == ("toolUse", "STOP")
        assert (message.response_id, message.response_model) == ("r1", None)

    def test_calls_without_id_or_with_the_same_get_their_own(self) -> None:
        message = build(chunk(call(), call(), call(id="c"), call(id="c"), finish="STOP"))
        ids = [call.id for call in message.tool_calls]
        assert len(set(ids)) == 4
        assert all(ids)
        assert ids[2] == "c"

    def test_a_signature_on_an_empty_part_is_kept_in_its_place(self) -> None:
        signed = {"text": "", "thoughtSignature": SIGNATURE}
        assert build(chunk({"text": "a"}), chunk(signed, finish="STOP")).content == [TextContent("a", SIGNATURE)]
        message = build(chunk(call(id="c")), chunk(signed, finish="STOP"))
        assert message.content == [ToolCall("c", "read", {"path": "a"}), TextContent("", SIGNATURE)]

    def test_a_second_signature_begins_a_block(self) -> None:
        first, second = {"text": "a", "thoughtSignature": "AAAA"}, {"text": "b", "thoughtSignature": "BBBB"}
        message = build(chunk(first, {"text": "-"}, second, finish="STOP"))
        assert message.content == [TextContent("a-", "AAAA"), TextContent("b", "BBBB")]

    def test_usage(self) -> None:
        early = {"promptTokenCount": 1}
        told = {
            "promptTokenCount": 100,
            "cachedContentTokenCount": 30,
            "candidatesTokenCount": 5,
            "thoughtsTokenCount": 7,
            "totalTokenCount": 200,
        }
        usage = build(chunk({"text": "a"}, usageMetadata=early), chunk(finish="STOP", usageMetadata=told)).usage
        assert (usage.input, usage.cache_read, usage.output, usage.reasoning) == (70, 30, 12, 7)
        assert usage.total_tokens == 200

    @pytest.mark.parametrize(
        ("reason", "stop", "error"),
        [
            ("STOP", "stop", None),
            ("MAX_TOKENS", "length", None),
            ("SAFETY", "error", "Provider finishReason: SAFETY"),
            ("MALFORMED_FUNCTION_CALL", "error", "Provider finishReason: MALFORMED_FUNCTION_CALL"),
        ],
    )
    def test_reasons_to_stop(self, reason: str, stop: str, error: str | None) -> None:
        message = build(chunk({"text": "a"}, finish=reason))
        assert (message.stop_reason, message.error_message, message.text) == (stop, error, "a")

    def test_the_server_explains_why_it_stopped(self) -> None:
        record = chunk(finish="MALFORMED_FUNCTION_CALL")
        record["candidates"][0]["finishMessage"] = "Malformed: print()"
        assert (build(record).error_message or "").endswith(": Malformed: print()")

    def test_errors(self) -> None:
        error = {"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}}
        assert "overloaded" in (build(chunk({"text": "a"}), error).error_message or "")
        blocked = build({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}})
        assert blocked.error_message == "The provider blocked the prompt: PROHIBITED_CONTENT"
        assert build(chunk({"text": "a"})).error_message == "Stream ended without finishReason"
