"""The wire protocol of chat completions: what is sent, and what is made of the answer."""

from __future__ import annotations

import re
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
from piolet.llm.pool import HttpPool
from piolet.llm.protocols import protocol_for
from piolet.llm.transport import run_request
from tests.llm.wire import answer, ask, chunk, fold, model_at, result
from tests.support.replies import Call, Thinking, openai
from tests.support.server import ScriptedServer

PROTOCOL = protocol_for("openai-completions")
TOOL = ToolSpec("read", "Reads.", {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]})
IMAGE = ImageContent("AAAA", "image/png")
SENT_IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}


def body(model: Model, context: Context | None = None, **options: Any) -> dict[str, Any]:
    return PROTOCOL.request(model, context or ask(), StreamOptions(**options)).body


def messages(context: Context, **compat: Any) -> list[dict[str, Any]]:
    sent: list[dict[str, Any]] = body(model_at("http://x", compat=compat), context)["messages"]
    return sent


def thinking_model(**fields: Any) -> Model:
    return model_at("http://x", reasoning=True, **fields)


class TestRequest:
    def test_a_plain_request(self) -> None:
        request = PROTOCOL.request(model_at("http://x/v1/"), ask(tools=[TOOL]), StreamOptions(api_key="k"))
        assert request.url == "http://x/v1/chat/completions"
        assert request.headers == {"authorization": "Bearer k"}
        assert request.body == {
            "model": "m1",
            "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"}],
            "stream": True,
            "stream_options": {"include_usage": True},
            "store": False,
            "max_completion_tokens": 8192,
            "tools": [
                {
                    "type": "function",
                    "function": {"name": "read", "description": "Reads.", "parameters": TOOL.parameters},
                }
            ],
        }

    def test_options_of_the_caller(self) -> None:
        given = {"temperature": 0.5, "max_tokens": 100, "tool_choice": "none", "sampling_params": {"top_k": 3}}
        sent = body(model_at("http://x"), ask(tools=[TOOL]), **given)
        assert (sent["temperature"], sent["max_completion_tokens"], sent["tool_choice"]) == (0.5, 100, "none")
        assert sent["top_k"] == 3

    def test_sampling_parameters_are_merged_last_those_of_the_level_over_those_of_the_model(self) -> None:
        model = thinking_model(
            sampling_params={"top_p": 0.5, "store": True},
            sampling_params_by_thinking_level={"high": {"top_p": 0.7}, "off": {"z": 1}},
        )
        high, off = body(model, reasoning="high"), body(model)
        assert (high["top_p"], high["store"], off["top_p"], off["z"]) == (0.7, True, 0.5, 1)

    @pytest.mark.parametrize(
        ("provider", "url", "expected"),
        [
            ("openai", "http://x", {"role": "developer", "store": False, "field": "max_completion_tokens"}),
            ("mine", "https://api.openai.com/v1", {"role": "developer", "store": False}),
            ("mine", "https://api.deepseek.com", {"role": "system", "store": None, "field": "max_tokens"}),
            ("zai", "http://x", {"store": None, "field": "max_tokens", "effort": None}),
            ("mine", "https://api.x.ai/v1", {"store": None, "effort": None, "field": "max_completion_tokens"}),
            ("nvidia", "http://x", {"store": None, "effort": None, "field": "max_tokens"}),
            ("mine", "https://not-deepseek.com.example.org", {"role": "system", "store": False, "effort": "high"}),
        ],
    )
    def test_defaults_follow_the_provider_or_its_address(
        self, provider: str, url: str, expected: dict[str, Any]
    ) -> None:
        sent = body(model_at(url, provider=provider, reasoning=True), reasoning="high")
        found = {
            "role": sent["messages"][0]["role"],
            "store": sent.get("store"),
            "field": "max_tokens" if "max_tokens" in sent else "max_completion_tokens",
            "effort": sent.get("reasoning_effort"),
        }
        assert {key: found[key] for key in expected} == expected

    def test_an_explicit_flag_wins_over_the_default_of_the_provider(self) -> None:
        sent = body(model_at("http://x", provider="deepseek", compat={"supportsStore": True}))
        assert sent["store"] is False

    def test_flags_that_cannot_be_are_refused_in_words(self) -> None:
        with pytest.raises(RequestError, match=r"compat flags of stub/m1.*thinkingFormat"):
            body(model_at("http://x", compat={"thinkingFormat": "telepathy"}))

    def test_routing_and_priority(self) -> None:
        compat = {
            "openRouterRouting": {"only": ["a"]},
            "vercelGatewayRouting": {"only": ["b"]},
            "vllmPriority": 5,
            "zaiToolStream": True,
        }
        sent = body(model_at("http://x", compat=compat), ask(tools=[TOOL]))
        assert sent["provider"] == {"only": ["a"]}
        assert sent["providerOptions"] == {"gateway": {"only": ["b"]}}
        assert (sent["priority"], sent["tool_stream"]) == (5, True)

    def test_what_a_server_does_not_know_is_left_out(self) -> None:
        sent = body(model_at("http://x", compat={"supportsUsageInStreaming": False, "supportsStore": False}))
        assert "stream_options" not in sent
        assert "store" not in sent


OFF = {"off": "OFFV"}
THINKING = [
    ("openai", {}, None, {}),
    ("openai", {}, "minimal", {"reasoning_effort": "minimal"}),
    ("openai", OFF, None, {"reasoning_effort": "OFFV"}),
    ("openrouter", {}, None, {"reasoning": {"effort": "none"}}),
    ("openrouter", OFF, None, {"reasoning": {"effort": "OFFV"}}),
    ("openrouter", {}, "high", {"reasoning": {"effort": "high"}}),
    ("deepseek", {}, None, {"thinking": {"type": "disabled"}}),
    ("deepseek", {}, "high", {"thinking": {"type": "enabled"}, "reasoning_effort": "high"}),
    ("together", {}, None, {"reasoning": {"enabled": False}}),
    ("together", {}, "high", {"reasoning": {"enabled": True}, "reasoning_effort": "high"}),
    ("baseten", {}, None, {}),
    ("baseten", OFF, None, {"reasoning_effort": "OFFV"}),
    ("baseten", {}, "high", {"reasoning_effort": "high"}),
    ("zai", {}, None, {"thinking": {"type": "disabled"}}),
    ("zai", {}, "high", {"thinking": {"type": "enabled", "clear_thinking": False}, "reasoning_effort": "high"}),
    ("qwen", {}, None, {"enable_thinking": False}),
    ("qwen", {}, "high", {"enable_thinking": True, "reasoning_effort": "high"}),
    ("qwen-chat-template", {}, None, {"chat_template_kwargs": {"enable_thinking": False, "preserve_thinking": True}}),
    ("qwen-chat-template", {}, "low", {"chat_template_kwargs": {"enable_thinking": True, "preserve_thinking": True}}),
    ("chat-template", {}, "high", {}),
    ("string-thinking", {}, None, {"thinking": "none"}),
    ("string-thinking", OFF, None, {"thinking": "OFFV"}),
    ("string-thinking", {}, "high", {"thinking": "high"}),
    ("ant-ling", {}, "high", {}),
    ("ant-ling", {"high": "HI"}, "high", {"reasoning": {"effort": "HI"}}),
]
THINKING_FIELDS = ("reasoning_effort", "reasoning", "thinking", "enable_thinking", "chat_template_kwargs")


class TestThinking:
    @pytest.mark.parametrize(("form", "level_map", "level", "expected"), THINKING)
    def test_each_server_is_asked_in_its_own_form(
        self, form: str, level_map: dict[str, str | None], level: Any, expected: dict[str, Any]
    ) -> None:
        model = thinking_model(compat={"thinkingFormat": form}, thinking_level_map=level_map)
        sent = body(model, reasoning=level)
        assert {key: sent[key] for key in THINKING_FIELDS if key in sent} == expected

    @pytest.mark.parametrize("form", ["openai", "baseten"])
    def test_no_effort_for_a_server_that_knows_none(self, form: str) -> None:
        model = thinking_model(compat={"thinkingFormat": form, "supportsReasoningEffort": False})
        assert not set(THINKING_FIELDS) & body(model, reasoning="high").keys()

    def test_a_model_that_cannot_think_is_not_asked_to(self) -> None:
        assert not set(THINKING_FIELDS) & body(model_at("http://x"), reasoning="high").keys()

    def test_a_missing_level_becomes_the_next_higher(self) -> None:
        model = thinking_model(thinking_level_map={"off": None, "minimal": None})
        assert body(model)["reasoning_effort"] == "low"

    def test_templates_of_the_model_are_filled_in(self) -> None:
        template = {
            "enable_thinking": {"$var": "thinking.enabled"},
            "only_on": {"$var": "thinking.enabled", "omitWhenOff": True},
            "effort": {"$var": "thinking.effort"},
            "budget": {"$var": "thinking.budget"},
            "fixed": 1,
        }
        on = thinking_model(compat={"thinkingFormat": "chat-template", "chatTemplateKwargs": template})
        assert body(on, reasoning="high")["chat_template_kwargs"] == {
            "enable_thinking": True,
            "only_on": True,
            "effort": "high",
            "budget": 7168,
            "fixed": 1,
        }
        assert body(on)["chat_template_kwargs"] == {"enable_thinking": False, "fixed": 1}
        baseten = thinking_model(compat={"thinkingFormat": "baseten", "chatTemplateArgs": {"fixed": 1}})
        assert body(baseten, reasoning="high")["chat_template_args"] == {"fixed": 1}

    @pytest.mark.parametrize(
        ("level", "limit", "budget"),
        [("low", 8192, 2048), ("high", 8192, 7168), ("low", 1500, 476), ("low", 1000, None)],
    )
    def test_a_budget_leaves_room_for_the_answer(self, level: Any, limit: int, budget: int | None) -> None:
        compat = {"thinkingTokenBudgetField": "thinking_budget"}
        sent = body(thinking_model(compat=compat, max_tokens=limit), reasoning=level)
        assert sent.get("thinking_budget") == budget

    def test_budgets_of_the_caller_and_of_the_highest_levels(self) -> None:
        compat = {"supportsThinkingTokenBudget": True}
        model = thinking_model(compat=compat, max_tokens=64_000, thinking_level_map={"xhigh": "x"})
        assert body(model, reasoning="xhigh")["thinking_token_budget"] == 16384
        assert body(model, reasoning="high", thinking_budgets={"high": 5000})["thinking_token_budget"] == 5000
        assert "thinking_token_budget" not in body(model)


class TestHistory:
    USER = UserMessage([TextContent("q")], 1)
    CALLS = answer(ToolCall("c1", "read", {"path": "é"}), ToolCall("c2", "read", {}), stop="toolUse")
    RESULTS = (
        ToolResultMessage("c1", "read", [TextContent("x"), TextContent("y"), IMAGE], False, 2),
        ToolResultMessage("c2", "read", [], False, 2),
    )

    def test_calls_results_and_their_pictures(self) -> None:
        sent = messages(Context([self.USER, self.CALLS, *self.RESULTS]))
        assert sent == [
            {"role": "user", "content": [{"type": "text", "text": "q"}]},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {"id": "c1", "type": "function", "function": {"name": "read", "arguments": '{"path":"é"}'}},
                    {"id": "c2", "type": "function", "function": {"name": "read", "arguments": "{}"}},
                ],
            },
            {"role": "tool", "content": "x\ny", "tool_call_id": "c1"},
            {"role": "tool", "content": "(no tool output)", "tool_call_id": "c2"},
            {
                "role": "user",
                "content": [{"type": "text", "text": "Attached image(s) from tool result:"}, SENT_IMAGE],
            },
        ]

    def test_a_result_of_a_picture_alone_says_so(self) -> None:
        call = answer(ToolCall("c1", "read", {}), stop="toolUse")
        sent = messages(Context([call, ToolResultMessage("c1", "read", [IMAGE], False, 2)]))
        assert sent[1]["content"] == "(see attached image)"

    def test_the_whims_of_servers(self) -> None:
        context = Context([self.USER, self.CALLS, *self.RESULTS, UserMessage("next", 3)])
        sent = messages(
            context,
            requiresToolResultName=True,
            requiresAssistantAfterToolResult=True,
            requiresNonNullAssistantContent=True,
        )
        assert [message["role"] for message in sent] == [
            "user",
            "assistant",
            "tool",
            "tool",
            "assistant",
            "user",
            "user",
        ]
        assert sent[1]["content"] == ""
        assert sent[2]["name"] == "read"

    def test_an_empty_tool_list_where_the_history_has_tools(self) -> None:
        compat = {"requiresToolsWithToolHistory": True}
        model = model_at("http://x", compat=compat)
        assert body(model, Context([self.USER, self.CALLS, *self.RESULTS]))["tools"] == []
        assert "tools" not in body(model, ask())

    def test_thinking_goes_back_in_the_field_that_it_came_in(self) -> None:
        thought = ThinkingContent("plan", "reasoning")
        context = Context([self.USER, answer(thought, TextContent("a"))])
        assert messages(context)[1] == {"role": "assistant", "content": "a", "reasoning": "plan"}
        as_text = messages(context, requiresThinkingAsText=True)[1]
        assert as_text == {"role": "assistant", "content": "<thinking>\nplan\n</thinking>\na"}
        required = messages(context, requiresReasoningContentOnAssistantMessages=True)[1]
        assert required["reasoning_content"] == ""

    def test_structured_thinking_goes_back_as_it_came(self) -> None:
        details = '[{"type":"reasoning.encrypted","data":"D"}]'
        context = Context([self.USER, answer(ThinkingContent("", details), TextContent("a"))])
        assert messages(context)[1]["reasoning_details"] == [{"type": "reasoning.encrypted", "data": "D"}]

    @pytest.mark.parametrize(
        ("provider", "call_id", "expected"),
        [
            ("stub", "call_abc|fc_123", "call_abc_fc_123"),
            ("stub", "call.abc|fc:123", "call_abc_fc_123"),
            ("stub", "call.abc", "call[.]abc"),
            ("stub", "call_" + "a" * 40 + "|fc_123", "call_" + "a" * 26 + r"_[0-9a-f]{8}"),
            ("stub", "c" * 50, "c" * 50),
            ("openai", "c" * 50, "c" * 40),
        ],
    )
    def test_ids_of_other_models(self, provider: str, call_id: str, expected: str) -> None:
        foreign = answer(ToolCall(call_id, "read", {}), model="other", stop="toolUse")
        sent = body(model_at("http://x", provider=provider), Context([self.USER, foreign]))["messages"]
        found = sent[1]["tool_calls"][0]["id"]
        assert re.fullmatch(expected, found)
        assert sent[2]["tool_call_id"] == found


class TestCaching:
    def test_a_cache_key_where_it_is_known(self) -> None:
        there = model_at("https://api.openai.com/v1")
        assert body(there, session_id="s" * 70)["prompt_cache_key"] == "s" * 64
        assert "prompt_cache_key" not in body(model_at("http://x"), session_id="s")
        assert body(model_at("http://x", compat={"promptCacheKeyMode": "enabled"}), session_id="s")["prompt_cache_key"]
        assert "prompt_cache_key" not in body(there, session_id="s", cache_retention="none")

    def test_long_retention(self) -> None:
        sent = body(model_at("http://x"), session_id="s", cache_retention="long")
        assert (sent["prompt_cache_key"], sent["prompt_cache_retention"]) == ("s", "24h")
        short = model_at("http://x", compat={"supportsLongCacheRetention": False})
        assert (
            not {"prompt_cache_key", "prompt_cache_retention"}
            & body(short, session_id="s", cache_retention="long").keys()
        )

    @pytest.mark.parametrize(
        ("form", "names"),
        [
            ("openai", {"session_id", "x-client-request-id", "x-session-affinity"}),
            ("openai-nosession", {"x-client-request-id", "x-session-affinity"}),
            ("openrouter", {"x-session-id"}),
        ],
    )
    def test_headers_that_keep_a_session_together(self, form: str, names: set[str]) -> None:
        compat = {"sendSessionAffinityHeaders": True, "sessionAffinityFormat": form}
        options = StreamOptions(session_id="s")
        headers = PROTOCOL.request(model_at("http://x", compat=compat), ask(), options).headers
        assert headers == dict.fromkeys(names, "s")
        assert PROTOCOL.request(model_at("http://x"), ask(), options).headers == {}

    def test_marks_for_claude_behind_openrouter(self) -> None:
        model = model_at("https://openrouter.ai/api/v1", provider="openrouter", id="anthropic/claude-x")
        sent = body(model, ask(tools=[TOOL]))
        mark = {"cache_control": {"type": "ephemeral"}}
        assert sent["messages"] == [
            {"role": "system", "content": [{"type": "text", "text": "Be brief.", **mark}]},
            {"role": "user", "content": [{"type": "text", "text": "hi", **mark}]},
        ]
        assert sent["tools"][-1]["cache_control"] == {"type": "ephemeral"}
        long = body(model, ask(), cache_retention="long")
        assert long["messages"][0]["content"][0]["cache_control"] == {"type": "ephemeral", "ttl": "1h"}
        assert "cache_control" not in str(body(model, ask(tools=[TOOL]), cache_retention="none"))
        assert "cache_control" not in TOOL.parameters


class TestTools:
    def test_strict_schemas_where_the_tool_and_the_server_want_them(self) -> None:
        wanted = ToolSpec("t", "d", TOOL.parameters, {"type": "json_schema", "strict": "prefer"})
        model = model_at("http://x", compat={"supportsStrictMode": True})
        strict, plain = (tool["function"] for tool in body(model, ask(tools=[wanted, TOOL]))["tools"])
        assert (strict["strict"], strict["parameters"]["additionalProperties"]) == (True, False)
        assert (plain["strict"], plain["parameters"]) == (False, TOOL.parameters)
        assert "strict" not in body(model_at("http://x"), ask(tools=[wanted]))["tools"][0]["function"]

    def test_a_strict_schema_that_is_required_but_not_possible_is_refused(self) -> None:
        wanted = ToolSpec("t", "d", TOOL.parameters, {"type": "json_schema", "strict": "require"})
        with pytest.raises(RequestError, match="'t' requires constrained sampling"):
            body(model_at("http://x"), ask(tools=[wanted]))

    def test_a_tool_with_a_grammar(self) -> None:
        schema = {"type": "object", "properties": {"code": {"type": "string"}}, "required": ["code"]}
        grammar = {"type": "grammar", "variants": {"openai_lark": "start: /a+/"}}
        tool = ToolSpec("g", "d", schema, grammar)
        model = model_at("http://x", compat={"supportsOpenAIGrammarTools": True})
        context = Context([answer(ToolCall("c", "g", {"code": 'a"a'}), stop="toolUse")], tools=[tool])
        sent = body(model, context)
        form = {"type": "grammar", "grammar": {"syntax": "lark", "definition": "start: /a+/"}}
        assert sent["tools"] == [{"type": "custom", "custom": {"name": "g", "description": "d", "format": form}}]
        call = {"id": "c", "type": "custom", "custom": {"name": "g", "input": 'a"a'}}
        assert sent["messages"][0]["tool_calls"] == [call]

        pieces = [{"index": 0, "id": "c", "type": "custom", "custom": {"name": "g", "input": 'a"'}}]
        more = [{"index": 0, "custom": {"input": "\na"}}]
        events = fold(
            PROTOCOL.builder(model, context, StreamOptions()),
            chunk({"tool_calls": pieces}),
            chunk({"tool_calls": more}),
            chunk({}, "tool_calls"),
        )
        assert result(events).tool_calls[0].arguments == {"code": 'a"\na'}
        text = "".join(event.delta for event in events if event.type == "toolcall_delta")
        assert text == '{"code":"a\\"\\na"}'


def build(*chunks: dict[str, Any] | str, **compat: Any) -> AssistantMessage:
    model = model_at("http://x", compat=compat or None)
    return result(fold(PROTOCOL.builder(model, ask(), StreamOptions()), *chunks))


def call_delta(index: Any, call_id: str | None, name: str | None, arguments: Any) -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    told = {"index": index, "id": call_id, "function": {k: v for k, v in function.items() if v is not None}}
    return {"tool_calls": [{k: v for k, v in told.items() if v is not None}]}


class TestAnswer:
    async def test_an_answer_streams_as_events_and_ends_as_a_message(self, pool: HttpPool) -> None:
        with ScriptedServer([openai(Thinking("Let me think."), "Reading.", Call("read", {"path": "a"}))]) as server:
            stream = run_request(model_at(f"{server.url}/v1"), ask(), StreamOptions(api_key="k"), pool)
            types = [event.type async for event in stream]
            message = await stream.result()
        assert types[0] == "start"
        assert types[-4:] == ["thinking_end", "text_end", "toolcall_end", "done"]
        assert [block.type for block in message.content] == ["thinking", "text", "toolCall"]
        assert message.tool_calls[0].arguments == {"path": "a"}
        assert message.stop_reason == "toolUse"
        assert (message.raw_stop_reason, message.response_id) == ("tool_calls", "chatcmpl-1")
        assert server.requests[0].path == "/v1/chat/completions"

    @pytest.mark.parametrize(
        ("reason", "stop"),
        [
            ("stop", "stop"),
            ("end", "stop"),
            ("length", "length"),
            ("tool_calls", "toolUse"),
            ("function_call", "toolUse"),
        ],
    )
    def test_reasons_to_stop(self, reason: str, stop: str) -> None:
        assert build(chunk({"content": "x"}), chunk({}, reason)).stop_reason == stop

    @pytest.mark.parametrize("reason", ["content_filter", "network_error", "never_heard_of"])
    def test_other_reasons_are_errors_with_their_name(self, reason: str) -> None:
        message = build(chunk({"content": "x"}), chunk({}, reason))
        assert (message.stop_reason, message.raw_stop_reason) == ("error", reason)
        assert message.error_message == f"Provider finish_reason: {reason}"

    def test_no_reason_is_an_error_unless_the_server_gives_none(self) -> None:
        message = build(chunk({"content": "par"}))
        assert (message.error_message, message.text) == ("Stream ended without finish_reason", "par")
        assert build(chunk({"content": "all"}), supportsFinishReason=False).stop_reason == "stop"
        called = build(chunk(call_delta(0, "a", "t", "{}")), supportsFinishReason=False)
        assert called.stop_reason == "toolUse"

    @pytest.mark.parametrize(
        ("told", "expected"),
        [
            ({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 99}, (10, 5, 0, 0, 0)),
            (
                {
                    "prompt_tokens": 10,
                    "completion_tokens": 5,
                    "prompt_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 3},
                    "completion_tokens_details": {"reasoning_tokens": 2},
                },
                (3, 5, 4, 3, 2),
            ),
            ({"prompt_tokens": 10, "prompt_cache_hit_tokens": 8}, (2, 0, 8, 0, 0)),
            ({"prompt_tokens": 10, "cached_tokens": 1, "reasoning_tokens": 4}, (9, 0, 1, 0, 4)),
            ({"prompt_tokens": None, "prompt_tokens_details": None}, (0, 0, 0, 0, 0)),
            ({"prompt_tokens": 10, "completion_tokens": 1e308, "prompt_tokens_details": "none"}, (10, 0, 0, 0, 0)),
            ({"prompt_tokens": -4, "completion_tokens": "5"}, (0, 0, 0, 0, 0)),
        ],
    )
    @pytest.mark.parametrize("place", ["last", "any", "choice"])
    def test_usage_wherever_it_stands(self, told: dict[str, Any], expected: tuple[int, ...], place: str) -> None:
        last = chunk({}, "stop")
        if place == "choice":
            last["choices"][0]["usage"] = told
        more = {"last": [{"choices": [], "usage": told}], "any": [chunk(usage=told), chunk(usage=told)]}.get(place, [])
        usage = build(chunk({"content": "x"}), last, *more).usage
        assert (usage.input, usage.output, usage.cache_read, usage.cache_write, usage.reasoning) == expected
        assert usage.total_tokens == sum(expected[:4])

    def test_what_openrouter_billed_replaces_the_total(self) -> None:
        told = {"prompt_tokens": 10, "completion_tokens": 5, "cost": 0.25}
        model = model_at("http://x", provider="openrouter")
        events = fold(PROTOCOL.builder(model, ask(), StreamOptions()), chunk({"content": "x"}, "stop", usage=told))
        cost = result(events).usage.cost
        assert (cost.total, cost.total_from_provider) == (0.25, True)
        assert build(chunk({"content": "x"}, "stop", usage=told)).usage.cost.total_from_provider is None

    @pytest.mark.parametrize("field", ["reasoning_content", "reasoning", "reasoning_text"])
    def test_reasoning_in_any_field_comes_before_the_text_of_its_chunk(self, field: str) -> None:
        message = build(chunk({field: "think", "content": "A"}), chunk({}, "stop"))
        assert message.content == [ThinkingContent("think", field), TextContent("A")]

    def test_the_same_reasoning_in_two_fields_counts_once(self) -> None:
        message = build(chunk({"reasoning_content": "t", "reasoning": "t"}), chunk({}, "stop"))
        assert message.content == [ThinkingContent("t", "reasoning_content")]

    def test_structured_reasoning_is_collected_for_replay(self) -> None:
        def details(*entries: dict[str, Any], **delta: Any) -> dict[str, Any]:
            return chunk({**delta, "reasoning_details": list(entries)})

        text = {"type": "reasoning.text", "index": 0}
        message = build(
            details({**text, "text": "a"}, reasoning="a"),
            details({**text, "text": "b"}, {**text, "text": None, "signature": "SIG"}, reasoning="b"),
            details({"type": "reasoning.encrypted", "data": "D"}, {"type": "reasoning.encrypted", "data": "E"}),
            chunk({}, "stop"),
        )
        signature = (
            '[{"type":"reasoning.text","index":0,"text":"ab","signature":"SIG"},'
            '{"type":"reasoning.encrypted","data":"D"},{"type":"reasoning.encrypted","data":"E"}]'
        )
        assert message.content == [ThinkingContent("ab", signature)]

    def test_id_and_name_may_come_late_and_arguments_may_be_missing(self) -> None:
        message = build(
            chunk(call_delta(0, None, None, '{"a"')),
            chunk(call_delta(0, "id1", None, ":1")),
            chunk(call_delta(0, "id1", "t", "}")),
            chunk(call_delta(1, "id2", "u", None)),
            chunk({}, "tool_calls"),
        )
        assert message.tool_calls == [ToolCall("id1", "t", {"a": 1}), ToolCall("id2", "u", {})]

    def test_calls_without_index_are_told_apart_by_id_and_name(self) -> None:
        message = build(
            chunk(call_delta(None, "a", "t", '{"x":')),
            chunk(call_delta(None, None, None, "1}")),
            chunk(call_delta(None, "b", "t", '{"x":')),
            chunk(call_delta(None, "b", None, "2}")),
            chunk({}, "tool_calls"),
        )
        assert message.tool_calls == [ToolCall("a", "t", {"x": 1}), ToolCall("b", "t", {"x": 2})]

    def test_a_call_without_id_gets_one(self) -> None:
        ids = {build(chunk(call_delta(0, None, "t", "{}")), chunk({}, "tool_calls")).tool_calls[0].id for _ in "ab"}
        assert len(ids) == 2
        assert all(call_id.startswith("call_") for call_id in ids)

    def test_arguments_may_come_as_an_object(self) -> None:
        message = build(chunk(call_delta(0, "a", "t", {"x": [1]})), chunk({}, "tool_calls"))
        assert message.tool_calls == [ToolCall("a", "t", {"x": [1]})]

    @pytest.mark.parametrize(
        "record",
        [
            {"error": {"code": 502, "message": "upstream overloaded"}},
            {"error": "upstream overloaded"},
            {"choices": [{"delta": {}, "error": {"message": "upstream overloaded"}}]},
        ],
    )
    def test_an_error_in_the_stream_wins_even_after_the_end_of_the_answer(self, record: dict[str, Any]) -> None:
        usage = {"prompt_tokens": 7, "completion_tokens": 1}
        message = build(chunk({"content": "half"}), chunk({}, "stop", usage=usage), record)
        assert (message.stop_reason, message.text, message.usage.input) == ("error", "half", 7)
        assert "upstream overloaded" in (message.error_message or "")

    @pytest.mark.parametrize(
        "odd",
        [
            *(None, 1, "text", [], {}, {"choices": None}, {"choices": [None]}, {"choices": ["x"]}, {"usage": [1]}),
            *({"choices": [{"delta": None}]}, {"choices": [{"delta": "x"}]}, {"choices": [], "usage": "none"}),
        ],
    )
    def test_records_without_content_are_passed_over(self, odd: Any) -> None:
        assert build(odd, chunk({"content": "x"}), odd, chunk({}, "stop")).text == "x"

    def test_the_model_that_answered_is_named_if_it_is_another(self) -> None:
        assert build(chunk({"content": "x"}, "stop")).response_model is None
        assert build({**chunk({"content": "x"}, "stop"), "model": "m1-0613"}).response_model == "m1-0613"

    def test_a_refusal_is_text(self) -> None:
        assert build(chunk({"refusal": "No."}), chunk({}, "stop")).text == "No."
