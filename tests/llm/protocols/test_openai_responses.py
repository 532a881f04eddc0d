"""The wire protocol of OpenAI's responses: what is sent, and what is made of the answer."""

from __future__ import annotations

import json
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
from tests.llm.wire import answer, ask, fold, model_at, result

API = "openai-responses"
PROTOCOL = protocol_for(API)
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}
TOOL = ToolSpec("read", "Reads.", SCHEMA)
STRICT = ToolSpec("read", "Reads.", SCHEMA, {"type": "json_schema", "strict": "prefer"})
GRAMMAR = ToolSpec(
    "patch",
    "Patches.",
    {"type": "object", "properties": {"text": {"type": "string"}}},
    {"type": "grammar", "variants": {"openai_lark": "start: /a+/"}},
)
IMAGE = ImageContent("AAAA", "image/png")
SENT_IMAGE = {"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,AAAA"}
REASONING = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "ENC"}
THOUGHT = ThinkingContent("", json.dumps(REASONING))


def gpt(**fields: Any) -> Model:
    return model_at("http://x/v1/", API, **{"reasoning": True, **fields})


def request(model: Model, context: Context | None = None, **options: Any) -> WireRequest:
    return PROTOCOL.request(model, context or ask(), StreamOptions(**options))


def body(model: Model, context: Context | None = None, **options: Any) -> dict[str, Any]:
    return request(model, context, **options).body


def reply(*blocks: Any, stop: Any = "toolUse", **fields: Any) -> AssistantMessage:
    return answer(*blocks, stop=stop, **{"api": API, **fields})


def output(call_id: str, *blocks: Any, failed: bool = False) -> ToolResultMessage:
    return ToolResultMessage(call_id, "read", list(blocks), failed, 2)


class TestRequest:
    def test_a_plain_request(self) -> None:
        sent = request(gpt(reasoning=False), ask(tools=[TOOL]), api_key="k", session_id="s", temperature=0.5)
        assert sent.url == "http://x/v1/responses"
        assert sent.headers == {"authorization": "Bearer k", "session-id": "s", "x-client-request-id": "s"}
        assert sent.body == {
            "model": "m1",
            "input": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": [{"type": "input_text", "text": "hi"}]},
            ],
            "stream": True,
            "store": False,
            "max_output_tokens": 8192,
            "temperature": 0.5,
            "tools": [{"type": "function", "name": "read", "description": "Reads.", "parameters": SCHEMA}],
            "prompt_cache_key": "s",
        }

    def test_the_prompt_of_reasoning_models_is_the_developers(self) -> None:
        assert body(gpt())["input"][0]["role"] == "developer"
        assert body(gpt(compat={"supportsDeveloperRole": False}))["input"][0]["role"] == "system"

    @pytest.mark.parametrize(
        ("level", "words", "sent"),
        [
            ("high", {}, {"effort": "high", "summary": "auto"}),
            ("minimal", {"minimal": "low"}, {"effort": "low", "summary": "auto"}),
            (None, {}, {"effort": "none"}),
            ("off", {"off": "minimal"}, {"effort": "minimal"}),
            ("off", {"off": None}, {"effort": "minimal", "summary": "auto"}),
        ],
    )
    def test_the_effort_of_reasoning(self, level: Any, words: dict[str, Any], sent: dict[str, str]) -> None:
        found = body(gpt(thinking_level_map=words), reasoning=level)
        assert found["reasoning"] == sent
        assert ("include" in found) == ("summary" in sent)
        assert "reasoning" not in body(gpt(reasoning=False), reasoning=level)

    def test_an_effort_that_changes_leaves_the_beginning_of_the_request_as_it_was(self) -> None:
        model = gpt(compat={"supportsMidConvoEffort": True})
        own = reply(TextContent("A"), stop="stop", provider_thinking_level="high")
        history = [UserMessage("a", 1), own, UserMessage("b", 3)]
        first = body(model, Context(history[:1]), reasoning="high")
        second = body(model, Context(history), reasoning="low")
        update = {"type": "configuration_update", "reasoning": {"effort": "high"}}
        assert first["input"][-1] == update
        assert second["input"][: len(first["input"])] == first["input"]
        assert second["input"][-1] == {**update, "reasoning": {"effort": "low"}}
        assert first["reasoning"] == second["reasoning"] == {"effort": "medium", "summary": "auto"}
        off = body(model, Context(history))
        assert (off["reasoning"], len(off["input"])) == ({"effort": "none"}, 3)

    def test_models_that_choose_their_effort_are_not_asked_for_one(self) -> None:
        model = gpt(compat={"supportsReasoningEffort": False})
        assert body(model, reasoning="high")["reasoning"] == {"summary": "auto"}
        assert "reasoning" not in body(model)

    def test_the_limit_of_output_has_a_minimum(self) -> None:
        assert body(gpt(), max_tokens=3)["max_output_tokens"] == 16
        assert "max_output_tokens" not in body(gpt(compat={"supportsMaxOutputTokens": False}), max_tokens=3)

    @pytest.mark.parametrize(
        ("retention", "compat", "fields"),
        [
            (None, {}, {"prompt_cache_key": "s" * 64}),
            ("none", {}, {}),
            ("long", {}, {"prompt_cache_key": "s" * 64, "prompt_cache_retention": "24h"}),
            ("long", {"supportsLongCacheRetention": False}, {"prompt_cache_key": "s" * 64}),
            (
                "long",
                {"supportsExplicitPromptCacheMode": True},
                {"prompt_cache_key": "s" * 64, "prompt_cache_options": {"ttl": "30m"}},
            ),
            (None, {"promptCacheKeyMode": "disabled"}, {}),
        ],
    )
    def test_caching(self, retention: Any, compat: dict[str, Any], fields: dict[str, Any]) -> None:
        sent = request(gpt(compat=compat), cache_retention=retention, session_id="s" * 70)
        assert {key: value for key, value in sent.body.items() if "cache" in key} == fields
        assert ("session-id" in sent.headers) == (retention != "none")

    @pytest.mark.parametrize(
        ("form", "names"),
        [("openai", ["session-id", "x-client-request-id"]), ("openai-nosession", ["x-client-request-id"])],
    )
    def test_headers_that_keep_a_session_together(self, form: str, names: list[str]) -> None:
        assert sorted(request(gpt(compat={"sessionAffinityFormat": form}), session_id="s").headers) == names
        openrouter = request(gpt(compat={"sessionAffinityFormat": "openrouter"}), session_id="s")
        assert openrouter.headers == {"x-session-id": "s"}
        assert request(gpt()).headers == {}

    def test_strict_tools(self) -> None:
        strict, plain = body(gpt(compat={"supportsStrictMode": True}), ask(tools=[STRICT, TOOL]))["tools"]
        assert (strict["strict"], strict["parameters"]["required"]) == (True, ["path"])
        assert plain["strict"] is False
        assert "strict" not in body(gpt(), ask(tools=[STRICT]))["tools"][0]

    def test_tools_with_a_grammar(self) -> None:
        model = gpt(compat={"supportsOpenAIGrammarTools": True})
        [tool] = body(model, ask(tools=[GRAMMAR]))["tools"]
        assert tool == {
            "type": "custom",
            "name": "patch",
            "description": "Patches.",
            "format": {"type": "grammar", "syntax": "lark", "definition": "start: /a+/"},
        }
        call = reply(ToolCall("c|ctc_1", "patch", {"text": "aa"}))
        items = body(model, Context([call, output("c|ctc_1", TextContent("ok"))], tools=[GRAMMAR]))["input"]
        assert items == [
            {"type": "custom_tool_call", "call_id": "c", "name": "patch", "id": "ctc_1", "input": "aa"},
            {"type": "custom_tool_call_output", "call_id": "c", "output": "ok"},
        ]
        items = body(model, Context([call, output("c|ctc_1", TextContent("ok"))]))["input"]
        assert items[0] == {"type": "function_call", "call_id": "c", "name": "patch", "arguments": '{"text":"aa"}'}

    def test_the_choice_of_tools_and_parameters_of_the_caller_come_last(self) -> None:
        model = gpt(sampling_params={"top_p": 0.5}, sampling_params_by_thinking_level={"high": {"top_p": 0.6}})
        sent = body(model, ask(tools=[TOOL]), tool_choice="required", reasoning="high")
        assert (sent["tool_choice"], sent["top_p"]) == ("required", 0.6)
        assert body(model, sampling_params={"top_p": 0.7, "service_tier": "flex"})["service_tier"] == "flex"


class TestHistory:
    def items(self, *messages: Any) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = body(gpt(), Context(messages))["input"]
        return found

    def test_items_go_back_as_they_came(self) -> None:
        said = TextContent("I look.", '{"v":1,"id":"msg_1","phase":"commentary"}')
        items = self.items(
            UserMessage([TextContent("q"), IMAGE], 1), reply(THOUGHT, said, ToolCall("c|fc_1", "read", {"path": "a"}))
        )
        assert items == [
            {"role": "user", "content": [{"type": "input_text", "text": "q"}, SENT_IMAGE]},
            REASONING,
            {
                "type": "message",
                "role": "assistant",
                "id": "msg_1",
                "status": "completed",
                "content": [{"type": "output_text", "text": "I look.", "annotations": []}],
                "phase": "commentary",
            },
            {"type": "function_call", "call_id": "c", "name": "read", "id": "fc_1", "arguments": '{"path":"a"}'},
            {"type": "function_call_output", "call_id": "c", "output": "No result provided"},
        ]

    @pytest.mark.parametrize(
        ("signature", "sent"),
        [("msg_old", "msg_old"), (None, "msg_0_0"), ("m" * 65, "msg_0_0"), ('{"v":1}', "msg_0_0"), ("7", "7")],
    )
    def test_the_id_of_a_text(self, signature: str | None, sent: str) -> None:
        assert self.items(reply(TextContent("a", signature), stop="stop"))[0]["id"] == sent

    def test_reasoning_goes_back_only_with_the_item_that_it_led_to(self) -> None:
        call = ToolCall("c", "read", {})
        assert [item["type"] for item in self.items(reply(THOUGHT, call, THOUGHT), output("c"))] == [
            "reasoning",
            "function_call",
            "function_call_output",
        ]
        assert self.items(reply(THOUGHT, stop="length"), UserMessage("q", 1))[0]["role"] == "user"

    def test_reasoning_that_is_no_stored_item_is_not_sent(self) -> None:
        blocks = [ThinkingContent("t", "reasoning_content"), ThinkingContent("t"), ThinkingContent("t", "[1]")]
        assert [item["type"] for item in self.items(reply(*blocks, TextContent("a"), stop="stop"))] == ["message"]

    def test_a_call_of_another_model_gets_another_item_id(self) -> None:
        call, result = self.items(reply(ToolCall("a.1|fc:1", "read", {}), model="other"), output("a.1|fc:1"))
        assert (call["call_id"], result["call_id"]) == ("a_1", "a_1")
        assert call["id"].startswith("fc_")
        assert call["id"] != "fc:1"

    @pytest.mark.parametrize(
        ("call_id", "sent"), [("toolu_1", "toolu_1"), ("x" * 70, "x" * 64), ("a__", "a"), ("", "call"), ("é", "call")]
    )
    def test_ids_of_other_models(self, call_id: str, sent: str) -> None:
        call = self.items(reply(ToolCall(call_id, "read", {}), provider="other"))[0]
        assert (call["call_id"], call.get("id")) == (sent, None)

    def test_call_ids_that_a_server_uses_again_are_told_apart(self) -> None:
        items = self.items(
            reply(ToolCall("call_0|fc_a", "read", {})),
            output("call_0|fc_a", TextContent("1")),
            reply(ToolCall("call_0|fc_b", "read", {})),
            output("call_0|fc_b", TextContent("2")),
        )
        first, one, second, two = (item["call_id"] for item in items)
        assert (first, second) == (one, two)
        assert first == "call_0" != second

    def test_results(self) -> None:
        call = reply(*(ToolCall(f"c{n}", "read", {}) for n in range(3)))
        items = self.items(
            call,
            output("c0", TextContent("x"), TextContent("y")),
            output("c1", TextContent("see"), IMAGE),
            output("c2"),
        )
        seen = [{"type": "input_text", "text": "see"}, SENT_IMAGE]
        assert [item["output"] for item in items[3:]] == ["x\ny", seen, "(no tool output)"]

    def test_a_namespace_goes_back(self) -> None:
        assert self.items(reply(ToolCall("c", "read", {}, namespace="ns")))[0]["namespace"] == "ns"


CREATED = {"type": "response.created", "response": {"id": "resp_1", "model": "m1-2026", "status": "in_progress"}}


def added(index: int | None, item: dict[str, Any]) -> dict[str, Any]:
    return {"type": "response.output_item.added", "output_index": index, "item": item}


def done(index: int | None, item: dict[str, Any]) -> dict[str, Any]:
    return {"type": "response.output_item.done", "output_index": index, "item": item}


def delta(kind: str, index: int, piece: str) -> dict[str, Any]:
    return {"type": f"response.{kind}.delta", "output_index": index, "delta": piece}


def said(text: str, item_id: str = "msg_1", **fields: Any) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text}]
    return {"type": "message", "id": item_id, "role": "assistant", "content": content, **fields}


def called(arguments: str = '{"path":"a"}', item_id: str = "fc_1", **fields: Any) -> dict[str, Any]:
    call = {"type": "function_call", "id": item_id, "call_id": "c_1", "name": "read", "arguments": arguments}
    return {**call, "status": "completed", **fields}


def end(status: str = "completed", **fields: Any) -> dict[str, Any]:
    return {"type": f"response.{status}", "response": {"id": "resp_1", "status": status, "output": [], **fields}}


def text(words: str = "x") -> list[dict[str, Any]]:
    return [added(0, said("")), delta("output_text", 0, words), done(0, said(words))]


def build(*records: Any, model: Model | None = None, context: Context | None = None) -> AssistantMessage:
    return result(fold(PROTOCOL.builder(model or gpt(), context or ask(), StreamOptions()), *records))


class TestAnswer:
    def test_text_reasoning_and_calls(self) -> None:
        part = {"type": "response.reasoning_summary_part.added", "output_index": 0}
        summary = [{"type": "summary_text", "text": "one"}, {"type": "summary_text", "text": "two"}]
        thought = {"type": "reasoning", "id": "rs_1", "summary": summary, "encrypted_content": "ENC"}
        events = fold(
            PROTOCOL.builder(gpt(), ask(), StreamOptions()),
            CREATED,
            added(0, {"type": "reasoning", "id": "rs_1", "summary": []}),
            part,
            delta("reasoning_summary_text", 0, "one"),
            part,
            delta("reasoning_summary_text", 0, "two"),
            delta("reasoning_text", 0, "not shown beside a summary"),
            done(0, thought),
            added(1, said("", phase="commentary")),
            delta("output_text", 1, "He"),
            delta("output_text", 1, "llo"),
            done(1, said("Hello", phase="commentary")),
            added(2, called("")),
            delta("function_call_arguments", 2, '{"path":'),
            delta("function_call_arguments", 2, '"a"}'),
            done(2, called()),
            end(),
        )
        message = result(events)
        assert message.content == [
            ThinkingContent("one\n\ntwo", json.dumps(thought, separators=(",", ":"))),
            TextContent("Hello", '{"v":1,"id":"msg_1","phase":"commentary"}'),
            ToolCall("c_1|fc_1", "read", {"path": "a"}),
        ]
        assert (message.stop_reason, message.raw_stop_reason) == ("toolUse", "completed")
        assert (message.response_id, message.response_model) == ("resp_1", "m1-2026")
        deltas = [event.delta for event in events if event.type.endswith("_delta")]  # type: ignore[union-attr]
        assert deltas == ["one", "\n\n", "two", "He", "llo", '{"path":', '"a"}']

    def test_a_finished_item_is_right(self) -> None:
        message = build(
            added(0, said("")),
            delta("output_text", 0, "wrong"),
            done(0, said("right")),
            added(1, called("")),
            delta("function_call_arguments", 1, '{"path":"wro'),
            done(1, called()),
            end(),
        )
        assert (message.text, message.tool_calls[0].arguments) == ("right", {"path": "a"})

    def test_calls_may_interleave(self) -> None:
        message = build(
            added(0, called("")),
            added(1, called("", "fc_2", call_id="c_2")),
            delta("function_call_arguments", 1, '{"path":"2"}'),
            delta("function_call_arguments", 0, '{"path":"1"}'),
            done(1, called('{"path":"2"}', "fc_2", call_id="c_2")),
            done(0, called('{"path":"1"}')),
            end(),
        )
        assert [(call.id, call.arguments) for call in message.tool_calls] == [
            ("c_1|fc_1", {"path": "1"}),
            ("c_2|fc_2", {"path": "2"}),
        ]

    def test_events_without_an_index_are_known_by_their_item(self) -> None:
        other = {"type": "response.output_text.delta", "item_id": "msg_2", "delta": "2"}
        first = {"type": "response.output_text.delta", "item_id": "msg_1", "delta": "1"}
        last = {"type": "response.output_text.delta", "delta": "!"}
        message = build(added(None, said("")), added(None, said("", "msg_2")), other, first, last, end())
        assert [block.text for block in message.content] == ["1", "2!"]  # type: ignore[union-attr]

    def test_raw_reasoning_is_shown_without_a_summary(self) -> None:
        thought = {
            "type": "reasoning",
            "id": "r",
            "summary": [],
            "content": [{"type": "reasoning_text", "text": "raw"}],
        }
        message = build(
            added(0, {"type": "reasoning", "id": "r"}), delta("reasoning_text", 0, "r"), done(0, thought), end()
        )
        assert message.content[0].thinking == "raw"  # type: ignore[union-attr]

    def test_encrypted_reasoning_that_comes_at_the_end_is_kept(self) -> None:
        bare = {"type": "reasoning", "id": "rs_1", "summary": []}
        message = build(added(0, bare), done(0, bare), *text()[1:], end(output=[{**bare, "encrypted_content": "LATE"}]))
        assert isinstance(message.content[0], ThinkingContent)
        assert json.loads(message.content[0].thinking_signature or "")["encrypted_content"] == "LATE"

    def test_a_refusal_is_text(self) -> None:
        refused = {**said(""), "content": [{"type": "refusal", "refusal": "I can not"}]}
        message = build(added(0, said("")), delta("refusal", 0, "I can"), done(0, refused), end())
        assert (message.text, message.stop_reason) == ("I can not", "stop")

    def test_items_of_other_kinds_make_no_block(self) -> None:
        search = {"type": "web_search_call", "id": "ws_1"}
        message = build(added(0, search), delta("output_text", 0, "no"), done(0, search), end())
        assert (message.content, message.stop_reason) == ([], "stop")

    def test_the_text_of_a_tool_with_a_grammar_is_its_argument(self) -> None:
        item = {"type": "custom_tool_call", "id": "ctc_1", "call_id": "c", "name": "patch"}
        records = (
            added(0, {**item, "input": ""}),
            delta("custom_tool_call_input", 0, 'a"'),
            done(0, {**item, "input": 'a"a'}),
        )
        message = build(*records, end(), context=ask(tools=[GRAMMAR]))
        assert message.content == [ToolCall("c|ctc_1", "patch", {"text": 'a"a'})]

    def test_a_response_without_events_for_its_items(self) -> None:
        assert build(CREATED, end(output=[said("whole")])).text == "whole"

    def test_usage_and_the_price_of_a_tier(self) -> None:
        told = {
            "input_tokens": 100,
            "input_tokens_details": {"cached_tokens": 30, "cache_write_tokens": 20},
            "output_tokens": 7,
            "output_tokens_details": {"reasoning_tokens": 3},
            "total_tokens": 107,
        }
        usage = build(*text(), end(usage=told)).usage
        assert (usage.input, usage.cache_read, usage.cache_write, usage.output) == (50, 30, 20, 7)
        assert (usage.reasoning, usage.total_tokens) == (3, 107)
        for tier, model_id, factor in (
            ("flex", "m1", 0.5),
            ("priority", "m1", 2),
            ("fast", "m1", 2),
            ("priority", "gpt-5.5", 2.5),
            ("default", "m1", 1),
        ):
            cost = build(*text(), end(usage=told, service_tier=tier), model=gpt(id=model_id)).usage.cost
            assert cost.total == pytest.approx(usage.cost.total * factor)

    def test_what_openrouter_billed_is_the_price(self) -> None:
        told = {"input_tokens": 100, "output_tokens": 7, "cost": 0.5}
        cost = build(*text(), end(usage=told), model=gpt(provider="openrouter")).usage.cost
        assert (cost.total, cost.total_from_provider) == (0.5, True)
        assert build(*text(), end(usage=told)).usage.cost.total_from_provider is None

    @pytest.mark.parametrize(
        ("last", "stop", "raw", "error"),
        [
            (
                end("incomplete", incomplete_details={"reason": "max_output_tokens"}),
                "length",
                "incomplete.max_output_tokens",
                None,
            ),
            (
                end("incomplete", incomplete_details={"reason": "content_filter"}),
                "error",
                "incomplete.content_filter",
                "Provider response incomplete.content_filter",
            ),
            (
                end("failed", error={"code": "server_error", "message": "boom"}),
                "error",
                "failed",
                'Provider response failed: {"code":"server_error","message":"boom"}',
            ),
            (end("cancelled"), "error", "cancelled", "Provider response cancelled"),
            ({"type": "response.done", "response": {"status": "completed"}}, "stop", "completed", None),
        ],
    )
    def test_ends(self, last: dict[str, Any], stop: str, raw: str, error: str | None) -> None:
        message = build(*text(), last)
        assert (message.stop_reason, message.raw_stop_reason, message.error_message) == (stop, raw, error)
        assert message.text == "x"

    @pytest.mark.parametrize(
        "event",
        [
            {"type": "error", "code": "server_error", "message": "Sorry", "param": None},
            {"type": "error", "error": {"code": "server_error", "message": "Sorry"}},
            {"type": "response.error", "error": {"code": "server_error", "message": "Sorry"}},
            {"error": {"code": "server_error", "message": "Sorry"}},
        ],
    )
    def test_an_error_event_keeps_the_words_of_the_server(self, event: dict[str, Any]) -> None:
        message = build(*text(), event)
        assert (message.stop_reason, message.text) == ("error", "x")
        assert "server_error" in (message.error_message or "")
        assert "Sorry" in (message.error_message or "")

    def test_a_stream_without_its_end_is_an_error(self) -> None:
        assert build(CREATED, *text()).error_message == "Stream ended before a terminal response event"

    def test_a_call_that_never_ended_is_not_run(self) -> None:
        message = build(added(0, called("")), delta("function_call_arguments", 0, '{"path":"a"}'), end())
        assert message.stop_reason == "error"
        assert message.error_message == "Stream ended before the call of read was complete"
        assert build(added(0, called("")), end(output=[called()])).stop_reason == "toolUse"

    def test_a_call_that_the_limit_cut_off_is_not_run(self) -> None:
        limit = end("incomplete", incomplete_details={"reason": "max_output_tokens"})
        message = build(added(0, called("")), delta("function_call_arguments", 0, '{"path":"a'), limit)
        assert message.stop_reason == "length"
        assert message.tool_calls[0].arguments == {}
        assert message.tool_calls[0].arguments_error
