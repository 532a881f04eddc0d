"""A compaction from start to end: what is asked, stored and told, and what stays as it was when it fails."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

from piolet.harness.compaction.compactor import CompactionPolicy
from piolet.harness.compaction.hook_points import (
    SESSION_BEFORE_COMPACT,
    BeforeCompact,
    CompactDecision,
    CompactionProposal,
)
from piolet.harness.compaction.settings import CompactionSettings
from piolet.harness.compaction.summarize import portions
from piolet.harness.drafts import CompactionDraft, CustomMessageDraft
from piolet.harness.errors import Cancelled, CompactionFailed, NothingToDo
from piolet.harness.retry import RetryPolicy
from piolet.harness.session.entries import CompactionEntry
from piolet.llm.messages import UserMessage, text_of
from piolet.llm.model import StreamOptions
from tests.harness.talk import Harness, policy
from tests.support.scripted_model import MODEL, Reply, call, fails, hangs, says, thinking
from tests.support.virtual_time import now, run_jumping

#: Tokens of the last question and its answer.
LAST_TURN = 103
COMPACTION = ("compaction_start", "session_compact", "session_compact_failed", "compaction_end")


async def a_talk(*more: Reply, **settings: Any) -> Harness:
    """A harness after two questions and answers, of which a compaction keeps the last of both."""
    settings.setdefault("keep", LAST_TURN)
    talk = Harness(says("first " + "x" * 400), says("second " + "y" * 400), *more, **settings)
    await talk.harness.prompt("one")
    await talk.harness.prompt("two")
    talk.events.clear()
    return talk


def compaction(talk: Harness) -> CompactionEntry:
    [entry] = [entry for entry in talk.harness.session.entries if isinstance(entry, CompactionEntry)]
    return entry


def asked(talk: Harness, index: int = -1) -> str:
    """The text of a summary request."""
    [message] = talk.summarizer.requests[index].context.messages
    return text_of(message.content)


# ---- what it gives


async def test_a_compaction_puts_a_summary_in_the_place_of_what_is_old() -> None:
    talk = await a_talk(summaries=[says("WHAT HAPPENED", tokens=(300, 20))])
    result = await talk.harness.compact()
    entry = compaction(talk)
    assert (result.summary, result.first_kept_entry_id) == (entry.summary, entry.first_kept_entry_id)
    assert result.summary.startswith("WHAT HAPPENED")
    assert result.usage is not None
    assert result.usage.total_tokens == 320
    assert result.tokens_before == entry.tokens_before > result.estimated_tokens_after > 0
    assert entry.from_hook is False
    assert talk.stored()[0] == f"compactionSummary: {result.summary}"
    assert talk.stored()[-1] == "assistant: second " + "y" * 400
    assert not any("first" in text for text in talk.stored())
    assert talk.outline(*COMPACTION) == ["compaction_start manual", "session_compact", "compaction_end manual ok"]
    talk.check()


async def test_the_old_entries_stay_and_going_back_brings_them_all_back() -> None:
    talk = await a_talk(says("third"))
    before = talk.stored()
    leaf = talk.harness.session.leaf_id
    assert leaf is not None
    await talk.harness.compact()
    await talk.harness.prompt("three")
    await talk.harness.navigate_tree(leaf)
    assert talk.stored() == before
    talk.check()


async def test_the_instructions_of_a_person_reach_the_summary() -> None:
    talk = await a_talk()
    await talk.harness.compact("the names of the files")
    assert asked(talk).endswith("Additional focus: the names of the files")


async def test_a_compaction_by_hand_needs_no_permission_to_compact_by_itself() -> None:
    talk = await a_talk(compaction=policy(keep=LAST_TURN, enabled=False))
    assert (await talk.harness.compact()).summary


async def test_how_full_the_window_is_is_unknown_until_a_provider_tells_again() -> None:
    talk = await a_talk(says("third", tokens=(40, 2)))
    assert talk.harness.context_usage().tokens is not None
    await talk.harness.compact()
    usage = talk.harness.context_usage()
    assert (usage.tokens, usage.percent) == (None, None)
    await talk.harness.prompt("three")
    assert talk.harness.context_usage().tokens == 42


# ---- what is asked


async def test_a_summary_is_asked_for_in_a_request_that_stands_alone() -> None:
    talk = await a_talk(options=StreamOptions(session_id="mine", max_tokens=7, temperature=0.5))
    await talk.harness.compact()
    [request] = talk.summarizer.requests
    assert request.context.tools == ()
    assert len(request.context.messages) == 1
    assert (request.options.cache_retention, request.options.max_tokens) == ("none", None)
    assert request.options.session_id not in (None, "mine")
    assert request.options.temperature == 0.5


async def test_thinking_is_no_part_of_the_material_and_tool_calls_are() -> None:
    talk = Harness(
        says(thinking("SECRET THOUGHT"), "Let me see.", call("echo", text="ECHOED")), says("x" * 400), says("y" * 400)
    )
    await talk.harness.prompt("one")
    await talk.harness.prompt("two")
    await talk.harness.compact()
    material = "\n".join(asked(talk, index) for index in range(len(talk.summarizer.requests)))
    assert "SECRET THOUGHT" not in material
    assert '[Assistant tool calls]: echo(text="ECHOED")' in material
    assert "[Tool result]: ECHOED" in material


async def test_a_later_compaction_brings_the_earlier_summary_up_to_date_and_does_not_summarize_it() -> None:
    talk = await a_talk(says("third " + "z" * 400), summaries=[says("EARLIER"), says("LATER")])
    await talk.harness.compact()
    await talk.harness.prompt("three")
    await talk.harness.compact()
    prompt = asked(talk)
    material, _, rest = prompt.partition("</conversation>")
    assert "<previous-summary>\nEARLIER\n</previous-summary>" in rest
    assert "EARLIER" not in material
    assert "second" in material
    assert "first" not in material
    assert talk.stored()[0] == "compactionSummary: LATER"
    talk.check()


async def test_another_model_can_write_the_summaries() -> None:
    writer = replace(MODEL, id="writer")
    settings = CompactionSettings(reserve_tokens=1000, keep_recent_tokens=LAST_TURN)
    talk = await a_talk(compaction=CompactionPolicy(lambda model: settings, summary_model=lambda: writer))
    await talk.harness.compact()
    assert talk.summarizer.requests[0].model is writer


async def test_files_that_were_read_and_changed_are_listed_and_carried_on() -> None:
    tools = [call("read", "r", path="a.py"), call("read", "s", path="b.py"), call("write", "w", path="b.py")]
    talk = Harness(says(*tools), says("x" * 400), says("y" * 400), says("z" * 400), keep=100)
    for text in ("one", "two"):
        await talk.harness.prompt(text)
    first = await talk.harness.compact()
    assert first.details == {"readFiles": ["a.py"], "modifiedFiles": ["b.py"]}
    assert first.summary.endswith("\n\n<read-files>\na.py\n</read-files>\n\n<modified-files>\nb.py\n</modified-files>")
    await talk.harness.prompt("three")
    second = await talk.harness.compact()
    assert second.details == first.details


# ---- what is refused


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (says(""), "empty"),
        (says(" \n"), "empty"),
        (says("half", stop="length"), "cut off"),
        (says("Let me look.", call("read")), "tool"),
        (fails("400: no"), "400: no"),
        (Reply(crash=RuntimeError("crash")), "crash"),
        (Reply(crash_at_once=RuntimeError("crash at once")), "crash at once"),
    ],
    ids=["nothing", "blank", "half", "call", "error", "crash", "crash at once"],
)
async def test_a_reply_that_is_no_whole_summary_is_refused_and_nothing_is_stored(reply: Reply, why: str) -> None:
    talk = await a_talk(says("third"), summaries=[reply])
    before = talk.stored()
    with pytest.raises(CompactionFailed, match=why):
        await talk.harness.compact()
    assert talk.stored() == before
    assert "compaction" not in talk.entries()
    assert talk.outline(*COMPACTION)[0] == "compaction_start manual"
    assert talk.outline(*COMPACTION)[1] == "session_compact_failed"
    assert talk.outline(*COMPACTION)[2].startswith("compaction_end manual Compaction failed: ")
    assert not talk.harness.is_compacting
    await talk.harness.prompt("three")
    talk.check()


async def test_with_nothing_to_summarize_no_request_is_sent() -> None:
    talk = Harness(says("one"))
    await talk.harness.prompt("go")
    with pytest.raises(NothingToDo, match="Nothing to compact"):
        await talk.harness.compact()
    assert talk.summarizer.requests == []
    assert talk.outline("compaction_end") == [
        "compaction_end manual Compaction failed: Nothing to compact (session too small)"
    ]


async def test_two_compactions_in_a_row_are_refused() -> None:
    talk = await a_talk()
    await talk.harness.compact()
    with pytest.raises(NothingToDo, match="Already compacted"):
        await talk.harness.compact()


async def test_a_compaction_ends_a_run_under_way_first() -> None:
    talk = await a_talk(hangs("third"))
    run = asyncio.create_task(talk.harness.prompt("three"))
    while not talk.outline("message_update"):
        await asyncio.sleep(0)
    await talk.harness.compact()
    assert (await run).outcome == "aborted"
    kinds = [event.type for event in talk.events]
    assert kinds.index("agent_settled") < kinds.index("compaction_start")
    talk.check()


def test_an_abort_ends_a_compaction_and_nothing_is_stored() -> None:
    async def scenario() -> None:
        talk = await a_talk(says("third"), summaries=[hangs("SUM")])
        begin = now()
        asyncio.get_running_loop().call_later(5, talk.harness.request_abort)
        with pytest.raises(Cancelled):
            await talk.harness.compact()
        assert now() - begin == 5
        assert talk.outline(*COMPACTION)[-2:] == ["session_compact_failed", "compaction_end manual aborted"]
        assert "compaction" not in talk.entries()
        assert (await talk.harness.prompt("three")).text == "third"
        talk.check()

    run_jumping(scenario())


def test_a_caller_that_is_cancelled_ends_a_compaction() -> None:
    async def scenario() -> None:
        talk = await a_talk(summaries=[hangs("SUM")])
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(5):
                await talk.harness.compact()
        await talk.harness.wait_idle()
        assert talk.outline("compaction_end") == ["compaction_end manual aborted"]

    run_jumping(scenario())


def test_transient_failures_of_a_summary_are_tried_again() -> None:
    async def scenario() -> None:
        talk = await a_talk(summaries=[fails("503: overloaded"), fails("503: overloaded"), says("AT LAST")])
        result = await talk.harness.compact()
        assert result.summary == "AT LAST"
        assert now() == 2 + 4
        kinds = [event.type for event in talk.events]
        assert kinds == [
            "compaction_start",
            "summarization_retry_scheduled",
            "summarization_retry_attempt_start",
            "summarization_retry_scheduled",
            "summarization_retry_attempt_start",
            "summarization_retry_finished",
            "session_compact",
            "compaction_end",
        ]
        assert (talk.events[1].attempt, talk.events[3].attempt) == (1, 2)
        assert (talk.events[2].source, talk.events[2].reason) == ("compaction", "manual")

    run_jumping(scenario())


def test_an_abort_ends_the_wait_for_another_try_of_a_summary() -> None:
    async def scenario() -> None:
        talk = await a_talk(summaries=[fails("503: overloaded")], retry=RetryPolicy(base_delay_ms=60_000))
        asyncio.get_running_loop().call_later(5, talk.harness.request_abort)
        with pytest.raises(Cancelled):
            await talk.harness.compact()
        assert now() == 5
        assert [event.type for event in talk.events][-3:] == [
            "summarization_retry_finished",
            "session_compact_failed",
            "compaction_end",
        ]

    run_jumping(scenario())


# ---- hooks


async def test_a_handler_knows_the_plan() -> None:
    talk = await a_talk()
    seen: list[BeforeCompact] = []
    talk.harness.hooks.on(SESSION_BEFORE_COMPACT, seen.append)
    result = await talk.harness.compact("files")
    [event] = seen
    assert (event.reason, event.will_retry, event.custom_instructions) == ("manual", False, "files")
    assert [entry.id for entry in event.branch_entries] == [head.id for head in talk.harness.session.heads[:-1]]
    assert event.preparation.first_kept_entry_id == result.first_kept_entry_id
    assert [message.role for message in event.preparation.messages_to_summarize] == ["user", "assistant"]


async def test_a_handler_can_write_the_summary_and_only_that_is_enough() -> None:
    talk = await a_talk()
    talk.harness.hooks.on(SESSION_BEFORE_COMPACT, lambda event: CompactDecision(compaction=CompactionProposal("MINE")))
    result = await talk.harness.compact()
    assert talk.summarizer.requests == []
    assert result.summary == "MINE"
    assert compaction(talk).from_hook is True
    assert talk.stored()[-1] == "assistant: second " + "y" * 400
    assert [event.from_extension for event in talk.events if event.type == "session_compact"] == [True]
    talk.check()


async def test_a_summary_of_a_handler_is_stored_as_it_is() -> None:
    talk = await a_talk()
    proposal = CompactionProposal("MINE", talk.harness.session.leaf_id, 7, {"own": 1})
    talk.harness.hooks.on(SESSION_BEFORE_COMPACT, lambda event: CompactDecision(compaction=proposal))
    await talk.harness.compact()
    entry = compaction(talk)
    assert (entry.first_kept_entry_id, entry.tokens_before, entry.details) == (
        proposal.first_kept_entry_id,
        7,
        {"own": 1},
    )


async def test_a_handler_can_cancel_and_the_later_ones_are_not_asked() -> None:
    talk = await a_talk()
    asked_too: list[Any] = []
    talk.harness.hooks.on(SESSION_BEFORE_COMPACT, lambda event: CompactDecision(cancel=True))
    talk.harness.hooks.on(SESSION_BEFORE_COMPACT, asked_too.append)
    with pytest.raises(Cancelled):
        await talk.harness.compact()
    assert asked_too == []
    assert talk.outline("compaction_end") == ["compaction_end manual aborted"]
    assert talk.summarizer.requests == []


async def test_a_handler_that_raises_or_says_nothing_leaves_it_to_the_model() -> None:
    talk = await a_talk()

    def broken(event: BeforeCompact) -> None:
        raise ValueError("no")

    talk.harness.hooks.on(SESSION_BEFORE_COMPACT, broken)
    talk.harness.hooks.on(SESSION_BEFORE_COMPACT, lambda event: CompactDecision())
    assert (await talk.harness.compact()).summary == "SUMMARY"
    assert len(talk.failures) == 1


async def test_a_summary_without_a_json_form_is_told_as_a_failure() -> None:
    talk = await a_talk(says("third"))
    proposal = CompactionProposal("MINE", details=object())
    talk.harness.hooks.on(SESSION_BEFORE_COMPACT, lambda event: CompactDecision(compaction=proposal))
    with pytest.raises(Exception, match="cannot be stored"):
        await talk.harness.compact()
    assert talk.outline("compaction_end")[0].startswith("compaction_end manual Compaction failed: ")
    talk.harness.hooks.drop(None)
    await talk.harness.prompt("three")
    talk.check()


# ---- beside it


async def test_messages_that_come_during_a_compaction_by_hand_wait_for_the_next_prompt() -> None:
    talk = await a_talk(says("third"), says("fourth"))

    async def queue(event: Any) -> None:
        if event.type == "compaction_start":
            await talk.harness.steer("meanwhile")
            await talk.harness.append(CustomMessageDraft("note", "noted"))

    talk.harness.subscribe(queue)
    await talk.harness.compact()
    assert talk.stored()[-1] == "custom: noted"
    await talk.harness.prompt("three")
    assert talk.stored()[-3:] == ["user: three", "user: meanwhile", "assistant: third"]
    talk.check()


async def test_a_compaction_that_an_embedder_appends_keeps_what_it_names_or_nothing() -> None:
    talk = await a_talk()
    last = talk.harness.session.leaf_id
    await talk.harness.append(CompactionDraft("KEEPS ONE", last, 10))
    assert talk.stored() == ["compactionSummary: KEEPS ONE", "assistant: second " + "y" * 400]
    await talk.harness.append(CompactionDraft("KEEPS NONE", None, 10))
    assert talk.stored() == ["compactionSummary: KEEPS NONE"]
    talk.check()


@pytest.mark.parametrize(("window", "reserve", "keep"), [(32_768, 16_384, 8_192), (8_000, 16_384, 2_000)])
def test_what_is_kept_leaves_room_below_the_threshold(window: int, reserve: int, keep: int) -> None:
    talk = Harness(window=window, compaction=policy(reserve, 20_000))
    assert talk.harness.compactor.settings().keep_recent_tokens == keep


def test_a_window_that_has_room_leaves_the_settings_alone() -> None:
    talk = Harness(window=200_000, compaction=policy(16_384, 20_000))
    assert talk.harness.compactor.settings() == CompactionSettings()


# ---- a window that is smaller than that of the model before


async def test_a_history_that_is_too_long_for_the_summarizing_model_is_summarized_in_portions() -> None:
    long = [says(f"answer {number} " + "x" * 4000, tokens=(90_000, 1000)) for number in range(8)]
    talk = Harness(*long, says("Done."), keep=500, window=200_000, summaries=[says("S1"), says("S2"), says("S3")])
    for number in range(8):
        await talk.harness.prompt(f"question {number}")
    await talk.harness.set_model(replace(talk.harness.model, id="small", context_window=6_000))
    await talk.harness.prompt("go on")
    prompts = [asked(talk, index) for index in range(len(talk.summarizer.requests))]
    assert len(prompts) > 2
    assert max(len(prompt) for prompt in prompts) < 6_000 * 4
    for number in range(7):
        assert len([prompt for prompt in prompts if f"answer {number} " in prompt]) == 1
    assert "<previous-summary>\nS1\n</previous-summary>" in prompts[1]
    assert talk.outline("compaction_end") == ["compaction_end threshold ok"]
    assert talk.sent()[-1] == "user: go on"
    talk.check()


@pytest.mark.parametrize(
    ("sizes", "window", "parts"),
    [
        ([], 1000, []),
        ([100, 100], 1000, [2]),
        ([100, 100], 0, [2]),
        ([400, 400, 400], 1000, [1, 1, 1]),
        ([200, 200, 200, 200, 200], 1000, [2, 2, 1]),
        ([5000, 100], 1000, [1, 1]),
    ],
)
def test_portions_fill_half_of_the_room_at_most(sizes: list[int], window: int, parts: list[int]) -> None:
    messages = [UserMessage("abcd" * (size - 2), 0) for size in sizes]  # "[User]: " is two tokens more
    assert [len(part) for part in portions(messages, window, 100)] == parts
