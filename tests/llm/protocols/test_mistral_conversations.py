"""The wire protocol of Mistral: what is sent, and what is made of the answer."""

from __future__ import annotations

import re
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
from piolet.llm.protocols import WireRequest, protocol_for
from tests.llm.wire import answer, ask, chunk, fold, model_at, result

API = "mistral-conversations"
PROTOCOL = protocol_for(API)
TOOL = ToolSpec("read", "Reads.", {"type": "object", "properties": {"path": {"type": "string"}}})
IMAGE = ImageContent("AAAA", "image/png")
SENT_IMAGE = {"type": "image_url", "image_url": "data:image/png;base64,AAAA"}
MAPPED = {"off": "none", "minimal": None, "low": None, "medium": None, "high": "high"}


def mistral(**fields: Any) -> Model:
    return model_at("http://x", API, **{"reasoning": True, **fields})


def request(model: Model, context: Context | None = None, **options: Any) -> WireRequest:
    return PROTOCOL.request(model, context or ask(), StreamOptions(**options))


def body(model: Model, context: Context | None = None, **options: Any) -> dict[str, Any]:
    return request(model, context, **options).body


class TestRequest:
    def test_a_plain_request(self) -> None:
        sent = request(mistral(reasoning=False), ask(tools=[TOOL]), api_key="k", session_id="s", temperature=0.5)
        assert sent.url == "http://x/v1/chat/completions"
        assert sent.headers == {"authorization": "Bearer k", "x-affinity": "s"}
        function = {"name": "read", "description": "Reads.", "parameters": TOOL.parameters}
        assert sent.body == {
            "model": "m1",
            "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"}],
            "stream": True,
            "max_tokens": 8192,
            "temperature": 0.5,
            "tools": [{"type": "function", "function": function}],
            "prompt_cache_key": "s",
        }
        assert "x-affinity" not in request(mistral(), session_id="s", cache_retention="none").headers

    @pytest.mark.parametrize(
        ("words", "level", "fields"),
        [
            (MAPPED, "off", {"reasoning_effort": "none"}),
            (MAPPED, "low", {"reasoning_effort": "high"}),
            ({"off": None, "low": "low"}, "off", {"reasoning_effort": "minimal"}),
            ({"low": "low"}, "off", {}),
            (None, "off", {}),
            (None, "high", {"prompt_mode": "reasoning"}),
        ],
    )
    def test_thinking(self, words: Any, level: Any, fields: dict[str, str]) -> None:
        sent = body(mistral(thinking_level_map=words), reasoning=level)
        assert {key: value for key, value in sent.items() if key in ("reasoning_effort", "prompt_mode")} == fields
        plain = body(mistral(thinking_level_map=words, reasoning=False), reasoning=level)
        assert not {"reasoning_effort", "prompt_mode"} & plain.keys()

    @pytest.mark.parametrize(("choice", "sent"), [("auto", "auto"), ("none", "none"), ("required", "any")])
    def test_the_choice_of_tools(self, choice: Any, sent: str) -> None:
        assert body(mistral(), ask(tools=[TOOL]), tool_choice=choice)["tool_choice"] == sent

    def test_strict_tools(self) -> None:
        wanted = ToolSpec("t", "d", TOOL.parameters, {"type": "json_schema", "strict": "prefer"})
        [tool] = body(mistral(compat={"supportsStrictMode": True}), ask(tools=[wanted]))["tools"]
        assert (tool["function"]["strict"], tool["function"]["parameters"]["required"]) == (True, ["path"])

    def test_parameters_of_the_caller_come_last(self) -> None:
        assert body(mistral(sampling_params={"top_p": 0.5}), sampling_params={"top_p": 0.7})["top_p"] == 0.7


def reply(*blocks: Any, **fields: Any) -> AssistantMessage:
    return answer(*blocks, stop="toolUse", **{"api": API, **fields})


class TestHistory:
    def sent(self, *messages: Any) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = body(mistral(), Context(messages))["messages"]
        return found

    def test_blocks_of_an_answer(self) -> None:
        call = ToolCall("abcdef123", "read", {"path": "a"})
        function = {"name": "read", "arguments": '{"path":"a"}'}
        assert self.sent(reply(ThinkingContent("plan"), TextContent("a"), call))[0] == {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": [{"type": "text", "text": "plan"}]},
                {"type": "text", "text": "a"},
            ],
            "tool_calls": [{"id": "abcdef123", "type": "function", "function": function}],
        }

    @pytest.mark.parametrize("call_id", ["toolu_01ABC", "a", "", "x" * 80, "abcdef12"])
    def test_ids_of_other_models_become_nine_letters_and_digits(self, call_id: str) -> None:
        call, told = self.sent(reply(ToolCall(call_id, "read", {}), model="other"))
        made = call["tool_calls"][0]["id"]
        assert re.fullmatch(r"[A-Za-z0-9]{9}", made)
        assert told["tool_call_id"] == made
        assert self.sent(reply(ToolCall(call_id, "read", {}), model="other"))[1]["tool_call_id"] == made

    def test_results(self) -> None:
        calls = reply(*(ToolCall(f"abcdef12{n}", "read", {}) for n in range(3)))
        results = [
            ToolResultMessage("abcdef120", "read", [TextContent("x"), TextContent("y")], False, 2),
            ToolResultMessage("abcdef121", "read", [IMAGE], True, 2),
            ToolResultMessage("abcdef122", "read", [], False, 2),
        ]
        told = self.sent(calls, *results)[1:]
        assert [(message["role"], message["name"]) for message in told] == [("tool", "read")] * 3
        assert [message["content"] for message in told] == [
            [{"type": "text", "text": "x\ny"}],
            [{"type": "text", "text": "[tool error] (see attached image)"}, SENT_IMAGE],
            [{"type": "text", "text": "(no tool output)"}],
        ]

    def test_the_assistant_speaks_between_results_and_a_user(self) -> None:
        call = reply(ToolCall("abcdef123", "read", {}))
        messages = self.sent(call, UserMessage([TextContent("steer"), IMAGE], 3))
        assert [message["role"] for message in messages] == ["assistant", "tool", "assistant", "user"]
        assert messages[2]["content"]
        assert messages[3]["content"] == [{"type": "text", "text": "steer"}, SENT_IMAGE]


def build(*records: Any) -> AssistantMessage:
    return result(fold(PROTOCOL.builder(mistral(), ask(tools=[TOOL]), StreamOptions()), *records))


def thinking(text: str) -> dict[str, Any]:
    return {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": text}]}]}


def call(arguments: Any, call_id: str = "abcdef123", index: int = 0) -> dict[str, Any]:
    function = {"name": "read", "arguments": arguments}
    return {"tool_calls": [{"id": call_id, "index": index, "function": function}]}


class TestAnswer:
    def test_thinking_text_and_calls(self) -> None:
        message = build(
            chunk({"role": "assistant", "content": ""}),
            chunk(thinking("pl")),
            chunk(thinking("an")),
            chunk({"content": [{"type": "text", "text": "He"}, {"type": "reference", "reference_ids": [1]}]}),
            chunk({"content": "llo"}),
            chunk(thinking("again")),
            chunk({**call('{"path":"a"}'), "content": ""}),
            chunk(call({"path": "b"}, "abcdef124", 1), "tool_calls"),
        )
        assert message.content == [
            ThinkingContent("plan"),
            TextContent("Hello"),
            ThinkingContent("again"),
            ToolCall("abcdef123", "read", {"path": "a"}),
            ToolCall("abcdef124", "read", {"path": "b"}),
        ]
        assert (message.stop_reason, message.raw_stop_reason) == ("toolUse", "tool_calls")

    @pytest.mark.parametrize("call_id", ["null", None])
    def test_a_call_without_an_id_gets_one_that_goes_back(self, call_id: Any) -> None:
        [made] = build(chunk(call("{}", call_id), "tool_calls")).tool_calls
        assert re.fullmatch(r"[A-Za-z0-9]{9}", made.id)

    @pytest.mark.parametrize(
        ("reason", "stop"), [("stop", "stop"), ("length", "length"), ("model_length", "length"), ("error", "error")]
    )
    def test_reasons_to_stop(self, reason: str, stop: str) -> None:
        message = build(chunk({"content": "a"}, reason))
        assert (message.stop_reason, message.raw_stop_reason) == (stop, reason)

    @pytest.mark.parametrize(
        "cached",
        [{"prompt_tokens_details": {"cached_tokens": 30}}, {"num_cached_tokens": 30, "prompt_tokens_details": None}],
    )
    def test_usage(self, cached: dict[str, Any]) -> None:
        told = {"prompt_tokens": 100, "completion_tokens": 7, "total_tokens": 107, **cached}
        usage = build(chunk({"content": "a"}, "stop", usage=told)).usage
        assert (usage.input, usage.cache_read, usage.output, usage.total_tokens) == (70, 30, 7, 107)

    def test_errors(self) -> None:
        assert build(chunk({"content": "a"})).error_message == "Stream ended without finish_reason"
        error = {"object": "error", "message": "Service unavailable", "error": {"message": "overloaded"}}
        assert "overloaded" in (build(chunk({"content": "a"}), error).error_message or "")
