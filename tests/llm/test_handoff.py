"""A stored history, made fit for the model that it goes to next."""

from __future__ import annotations

import re
from typing import Any

import pytest

from piolet.base.json import encode
from piolet.llm.handoff import prepare_history, word_id
from piolet.llm.messages import (
    AssistantMessage,
    ImageContent,
    Message,
    OpaqueBlock,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    UserMessage,
    text_of,
)
from tests.llm.wire import answer, model_at

MODEL = model_at("http://x")
TEXT_ONLY = model_at("http://x", input=["text"])
IMAGE = ImageContent("AAAA", "image/png")
USER = UserMessage("q", 1)


def prepared(*messages: Message, model: Any = MODEL) -> list[Message]:
    return prepare_history(messages, model, word_id(64))


def called(*ids: str, **fields: Any) -> AssistantMessage:
    return answer(*(ToolCall(call_id, "read", {}) for call_id in ids), stop=fields.pop("stop", "toolUse"), **fields)


def found(call_id: str, said: str = "ok") -> ToolResultMessage:
    return ToolResultMessage(call_id, "read", [TextContent(said)], False, 2)


def outline(messages: list[Message]) -> list[str]:
    """Return one word per message: the role, for a result its text."""
    return [text_of(m.content) if isinstance(m, ToolResultMessage) else m.role for m in messages]


class TestResults:
    def test_a_missing_result_is_made(self) -> None:
        assert outline(prepared(USER, called("a", "b"), found("b"), USER)) == [
            "user",
            "assistant",
            "No result provided",
            "ok",
            "user",
        ]

    def test_a_late_result_moves_behind_its_call(self) -> None:
        assert outline(prepared(called("a"), USER, found("a"))) == ["assistant", "ok", "user"]

    def test_a_result_of_no_call_is_left_out(self) -> None:
        assert outline(prepared(found("gone"), USER, called("a"), found("a"), found("a"), found("x"))) == [
            "user",
            "assistant",
            "ok",
        ]

    @pytest.mark.parametrize("stop", ["error", "aborted"])
    def test_an_answer_that_failed_is_left_out_with_its_results(self, stop: str) -> None:
        assert outline(prepared(USER, called("a", stop=stop), found("a"), USER)) == ["user", "user"]

    def test_a_failed_answer_does_not_take_the_result_of_an_earlier_call(self) -> None:
        history = [called("a"), found("a", "first"), called("a", stop="aborted"), found("a", "of the aborted one")]
        assert outline(prepared(*history)) == ["assistant", "first"]

    def test_ids_that_come_again_are_told_apart(self) -> None:
        first, one, second, two = prepared(called("a"), found("a", "1"), called("a"), found("a", "2"))
        assert isinstance(one, ToolResultMessage)
        assert isinstance(two, ToolResultMessage)
        assert first.tool_calls[0].id == one.tool_call_id == "a"  # type: ignore[union-attr]
        assert second.tool_calls[0].id == two.tool_call_id != "a"  # type: ignore[union-attr]
        assert (text_of(one.content), text_of(two.content)) == ("1", "2")

    def test_the_same_id_twice_in_one_answer(self) -> None:
        _, one, two = prepared(called("a", "a"), found("a", "1"), found("a", "2"))
        assert (text_of(one.content), text_of(two.content)) == ("1", "2")
        assert one.tool_call_id != two.tool_call_id  # type: ignore[union-attr]

    @pytest.mark.parametrize(
        ("made_up", "sent"),
        [("read", "read"), ("functions.read file", "functions_read_file"), ("", "unnamed"), ("é" * 99, "_" * 64)],
    )
    def test_names_that_no_provider_takes_back_are_cleaned_with_those_of_their_results(
        self, made_up: str, sent: str
    ) -> None:
        asked = answer(ToolCall("a", made_up, {}), ToolCall("b", made_up, {}), stop="toolUse")
        call, one, two = prepared(asked, ToolResultMessage("a", made_up, [TextContent("no such tool")], True, 2))
        assert [made.name for made in call.tool_calls] == [sent, sent]  # type: ignore[union-attr]
        assert [one.tool_name, two.tool_name] == [sent, sent]  # type: ignore[union-attr]


FOREIGN = {"provider": "other", "api": "openai-responses", "model": "x"}


class TestOtherModels:
    @pytest.mark.parametrize("field", ["provider", "api", "model"])
    def test_thinking_and_signatures_stay_with_the_model_that_made_them(self, field: str) -> None:
        blocks = (
            ThinkingContent("plan", "SIG"),
            TextContent("a", "TS"),
            ToolCall("c", "read", {}, thought_signature="TH"),
        )
        own = prepared(answer(*blocks, stop="toolUse"))[0]
        assert own.content == list(blocks)
        foreign = prepared(answer(*blocks, stop="toolUse", **{field: "else"}))[0]
        assert foreign.content == [TextContent("a"), ToolCall("c", "read", {})]

    def test_an_answer_of_nothing_but_foreign_thinking_is_left_out(self) -> None:
        assert prepared(answer(ThinkingContent("plan", "S"), **FOREIGN), USER) == [USER]

    def test_ids_are_normalised_and_results_follow(self) -> None:
        call, result = prepared(called("call.1|fc:2", **FOREIGN), found("call.1|fc:2"))
        assert call.tool_calls[0].id == "call_1_fc_2" == result.tool_call_id  # type: ignore[union-attr]

    def test_ids_of_the_same_model_stay(self) -> None:
        assert prepared(called("call.1|fc:2"))[0].tool_calls[0].id == "call.1|fc:2"  # type: ignore[union-attr]

    @pytest.mark.parametrize("ids", [("x" * 70 + "A", "x" * 70 + "B"), ("a.1", "a:1"), ("", "é"), ("a_1", "a.1")])
    def test_different_ids_stay_different(self, ids: tuple[str, str]) -> None:
        call = prepared(called(*ids, **FOREIGN))[0]
        assert isinstance(call, AssistantMessage)
        made = {c.id for c in call.tool_calls}
        assert len(made) == 2
        assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", call_id) for call_id in made)

    def test_the_ids_are_the_same_in_the_next_request(self) -> None:
        history = [called("a.1", "a:1", **FOREIGN), found("a.1"), found("a:1")]
        assert prepared(*history) == prepared(*history, USER)[:-1]


class TestContent:
    def test_empty_thinking_is_kept_only_with_a_signature(self) -> None:
        blocks = (
            ThinkingContent("  "),
            ThinkingContent("", "SIG"),
            ThinkingContent("", redacted=True),
            TextContent("a"),
        )
        assert prepared(answer(*blocks))[0].content == list(blocks[1:])

    def test_blank_texts_are_left_out_unless_they_carry_a_signature(self) -> None:
        blocks = (TextContent(" \n"), TextContent("", "TS"), TextContent("a"))
        assert prepared(answer(*blocks))[0].content == list(blocks[1:])

    def test_messages_without_content_are_left_out(self) -> None:
        empty = [UserMessage("", 1), UserMessage([], 1), UserMessage([TextContent(" ")], 1), answer()]
        assert prepared(*empty, USER) == [USER]

    def test_runs_of_pictures_become_one_note_for_a_model_that_cannot_see(self) -> None:
        message = UserMessage([TextContent("see"), IMAGE, IMAGE, TextContent("and"), IMAGE], 1)
        note = "(image omitted: model does not support images)"
        assert [b.text for b in prepared(message, model=TEXT_ONLY)[0].content] == ["see", note, "and", note]  # type: ignore[union-attr]
        assert prepared(message) == [message]
        result = ToolResultMessage("a", "read", [IMAGE], False, 2)
        said = text_of(prepared(called("a"), result, model=TEXT_ONLY)[1].content)
        assert said == "(tool image omitted: model does not support images)"

    def test_unknown_blocks_are_not_sent(self) -> None:
        odd = OpaqueBlock({"type": "video", "url": "u"})
        assert prepared(UserMessage([TextContent("a"), odd], 1))[0].content == [TextContent("a")]
        assert prepared(answer(odd, TextContent("b")))[0].content == [TextContent("b")]

    def test_lone_surrogates_are_removed_everywhere(self) -> None:
        bad = "a\ud800b"
        history = [
            UserMessage(bad, 1),
            answer(
                TextContent(bad),
                ThinkingContent(bad, "S"),
                ToolCall("c", "t", {bad: [bad, {"k": bad}]}),
                stop="toolUse",
            ),
            ToolResultMessage("c", "t", [TextContent(bad)], False, 2),
        ]
        assert b"ud800" not in encode(prepared(*history))
        assert prepared(UserMessage("😀", 1))[0].content == "😀"

    def test_the_history_is_not_touched(self) -> None:
        history = [USER, called("a.1", provider="other"), found("a.1"), UserMessage([IMAGE], 1)]
        before = encode(history)
        prepare_history(history, TEXT_ONLY, word_id(64))
        assert encode(history) == before
