"""Moving in the tree: where the leaf goes, what comes back, what is told, and summaries of what is left."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from piolet.harness.compaction import wording
from piolet.harness.compaction.hook_points import (
    SESSION_BEFORE_TREE,
    BeforeTree,
    BranchSummaryProposal,
    TreeDecision,
)
from piolet.harness.drafts import CustomMessageDraft
from piolet.harness.errors import CompactionFailed, UnknownTarget
from piolet.harness.session.session import Session
from piolet.llm.messages import text_of
from tests.harness.talk import Harness
from tests.support.scripted_model import Reply, call, fails, hangs, says
from tests.support.virtual_time import now, run_jumping


async def a_talk(*more: Reply, **settings: Any) -> Harness:
    talk = Harness(says("one"), says("two"), *more, **settings)
    await talk.harness.prompt("first")
    await talk.harness.prompt("second")
    talk.events.clear()
    return talk


def place(talk: Harness, index: int) -> str:
    return talk.harness.session.heads[index].id


async def test_to_an_answer_goes_behind_it() -> None:
    talk = await a_talk()
    result = await talk.harness.navigate_tree(place(talk, 1))
    assert talk.stored() == ["user: first", "assistant: one"]
    assert (result.cancelled, result.editor_text, result.summary_entry) == (False, None, None)
    [event] = talk.events
    assert (event.type, event.new_leaf_id, event.old_leaf_id) == ("session_tree", place(talk, 1), place(talk, 3))
    talk.check()


async def test_to_a_question_goes_before_it_and_hands_back_its_text() -> None:
    talk = await a_talk(says("other"))
    result = await talk.harness.navigate_tree(place(talk, 2))
    assert result.editor_text == "second"
    assert talk.stored() == ["user: first", "assistant: one"]
    await talk.harness.prompt("instead")
    assert talk.stored() == ["user: first", "assistant: one", "user: instead", "assistant: other"]
    talk.check()


async def test_to_the_first_question_goes_before_everything() -> None:
    talk = await a_talk(says("other"))
    assert (await talk.harness.navigate_tree(place(talk, 0))).editor_text == "first"
    assert talk.harness.session.leaf_id is None
    assert talk.stored() == []
    await talk.harness.prompt("anew")
    assert [head.parent_id for head in talk.harness.session.heads].count(None) == 2


async def test_to_a_custom_message_goes_before_it_and_hands_back_its_text() -> None:
    talk = await a_talk()
    note = await talk.harness.append(CustomMessageDraft("note", "noted"))
    assert note is not None
    await talk.harness.append(CustomMessageDraft("note", "more"))
    assert (await talk.harness.navigate_tree(note)).editor_text == "noted"
    assert talk.harness.session.leaf_id == place(talk, 3)


async def test_to_where_one_is_does_nothing() -> None:
    talk = await a_talk()
    asked: list[Any] = []
    talk.harness.hooks.on(SESSION_BEFORE_TREE, asked.append)
    await talk.harness.navigate_tree(talk.harness.session.leaf_id or "")
    assert (talk.events, asked) == ([], [])


async def test_to_nowhere_is_refused() -> None:
    talk = await a_talk()
    with pytest.raises(UnknownTarget):
        await talk.harness.navigate_tree("nowhere")


async def test_a_label_is_put_on_the_target_or_on_the_summary() -> None:
    talk = await a_talk()
    await talk.harness.navigate_tree(place(talk, 1), label="here")
    assert talk.harness.session.labels[place(talk, 1)].text == "here"
    talk = await a_talk()
    result = await talk.harness.navigate_tree(place(talk, 1), summarize=True, label="there")
    assert result.summary_entry is not None
    assert talk.harness.session.labels[result.summary_entry.id].text == "there"


# ---- summaries


async def test_the_branch_that_is_left_is_summarized_at_the_new_place() -> None:
    talk = await a_talk(says("three"), summaries=[says("LEARNED")])
    result = await talk.harness.navigate_tree(place(talk, 1), summarize=True)
    entry = result.summary_entry
    assert entry is not None
    assert entry.summary == f"{wording.BRANCH_PREAMBLE}\n\nLEARNED"
    assert (entry.parent_id, entry.from_id, entry.from_hook) == (place(talk, 1), place(talk, 3), False)
    [request] = talk.summarizer.requests
    asked = text_of(request.context.messages[0].content)
    assert "[User]: second\n\n[Assistant]: two" in asked
    assert "first" not in asked
    assert request.options.cache_retention == "none"
    assert talk.events[-1].summary_entry == entry
    await talk.harness.prompt("third")
    assert "LEARNED" in talk.sent()[2]
    talk.check()


async def test_a_branch_without_a_conversation_is_not_asked_about() -> None:
    talk = await a_talk()
    await talk.harness.navigate_tree(place(talk, 1), label="here")
    result = await talk.harness.navigate_tree(place(talk, 3), summarize=True)
    assert result.summary_entry is not None
    assert result.summary_entry.summary == wording.NO_BRANCH_CONTENT
    assert talk.summarizer.requests == []


async def test_own_instructions_are_a_focus_or_take_the_place_of_ours() -> None:
    for instead in (False, True):
        talk = await a_talk()
        await talk.harness.navigate_tree(
            place(talk, 1), summarize=True, custom_instructions="ONLY NAMES", replace_instructions=instead
        )
        asked = text_of(talk.summarizer.requests[0].context.messages[0].content)
        assert asked.endswith("ONLY NAMES")
        assert (wording.BRANCH in asked) is not instead


async def test_the_files_of_the_branch_are_listed() -> None:
    talk = await a_talk(says(call("write", path="new.py")), says("written"))
    await talk.harness.prompt("write")
    result = await talk.harness.navigate_tree(place(talk, 3), summarize=True)
    assert result.summary_entry is not None
    assert result.summary_entry.details == {"readFiles": [], "modifiedFiles": ["new.py"]}


@pytest.mark.parametrize("reply", [fails("400: no"), says("half", stop="length"), says("")])
async def test_a_summary_that_fails_leaves_everything_as_it_was(reply: Reply) -> None:
    talk = await a_talk(summaries=[reply])
    with pytest.raises(CompactionFailed, match="could not be summarized"):
        await talk.harness.navigate_tree(place(talk, 1), summarize=True)
    assert talk.harness.session.leaf_id == place(talk, 3)
    assert talk.events == []
    talk.check()


def test_an_abort_during_the_summary_leaves_everything_as_it_was() -> None:
    async def scenario() -> None:
        talk = await a_talk(summaries=[hangs("LEARN")])
        asyncio.get_running_loop().call_later(5, talk.harness.request_abort)
        result = await talk.harness.navigate_tree(place(talk, 1), summarize=True)
        assert result.cancelled
        assert now() == 5
        assert talk.harness.session.leaf_id == place(talk, 3)
        assert talk.harness.operation is None

    run_jumping(scenario())


# ---- hooks


async def test_a_handler_knows_what_is_left_and_what_was_asked() -> None:
    talk = await a_talk()
    seen: list[BeforeTree] = []
    talk.harness.hooks.on(SESSION_BEFORE_TREE, seen.append)
    await talk.harness.navigate_tree(place(talk, 1), label="here")
    asked = seen[0].preparation
    assert (asked.target_id, asked.old_leaf_id, asked.common_ancestor_id) == (
        place(talk, 1),
        place(talk, 3),
        place(talk, 1),
    )
    assert [entry.id for entry in asked.entries_to_summarize] == [place(talk, 2), place(talk, 3)]
    assert (asked.user_wants_summary, asked.label) == (False, "here")


async def test_a_handler_can_cancel() -> None:
    talk = await a_talk()
    talk.harness.hooks.on(SESSION_BEFORE_TREE, lambda event: TreeDecision(cancel=True))
    assert (await talk.harness.navigate_tree(place(talk, 1))).cancelled
    assert talk.harness.session.leaf_id == place(talk, 3)
    assert talk.events == []


@pytest.mark.parametrize("wanted", [True, False])
async def test_the_summary_of_a_handler_counts_only_if_one_is_wanted(wanted: bool) -> None:
    talk = await a_talk()
    talk.harness.hooks.on(
        SESSION_BEFORE_TREE, lambda event: TreeDecision(summary=BranchSummaryProposal("MINE", {"own": 1}))
    )
    result = await talk.harness.navigate_tree(place(talk, 1), summarize=wanted)
    assert talk.summarizer.requests == []
    if wanted:
        assert result.summary_entry is not None
        assert (result.summary_entry.summary, result.summary_entry.from_hook) == ("MINE", True)
        assert talk.events[-1].from_extension
    else:
        assert result.summary_entry is None


async def test_handlers_override_instructions_and_label_one_after_another() -> None:
    talk = await a_talk()
    talk.harness.hooks.on(SESSION_BEFORE_TREE, lambda event: TreeDecision(custom_instructions="MINE", label="mine"))
    talk.harness.hooks.on(SESSION_BEFORE_TREE, lambda event: TreeDecision(replace_instructions=True))
    result = await talk.harness.navigate_tree(place(talk, 1), summarize=True, custom_instructions="theirs")
    asked = text_of(talk.summarizer.requests[0].context.messages[0].content)
    assert asked.endswith("</conversation>\n\nMINE")
    assert result.summary_entry is not None
    assert talk.harness.session.labels[result.summary_entry.id].text == "mine"


# ---- long sessions


async def test_a_move_decodes_nothing_but_what_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    session = Session.in_memory("/")
    talk = Harness(*[says(f"a{n}") for n in range(30)], session=session)
    for number in range(30):
        await talk.harness.prompt(f"q{number}")
    decoded: list[int] = []
    read = Session.entries_of
    monkeypatch.setattr(Session, "entries_of", lambda self, heads: decoded.append(len(heads)) or read(self, heads))
    await talk.harness.navigate_tree(place(talk, 57))
    assert decoded == []
    await talk.harness.navigate_tree(place(talk, 51), summarize=True)
    assert decoded == [6]
