"""Full windows: compactions that a run makes by itself, before, within and after its agent runs."""

from __future__ import annotations

import asyncio
from typing import Any

from msgspec.structs import replace

from piolet.agent.tools import OnUpdate, ToolResult
from piolet.base.abort import AbortSignal
from piolet.harness.prompt.parts import PromptParts
from tests.agent.conversation import tool
from tests.harness.talk import HISTORY, QUICK, RUN, TOO_LONG, Harness, policy
from tests.support.scripted_model import MODEL, Reply, call, fails, hangs, says
from tests.support.timing import until

RECOVERY = (*RUN, "compaction_start", "compaction_end")


async def with_history(*replies: Reply, **more: Any) -> Harness:
    """A harness after two questions and answers, its events forgotten."""
    talk = Harness(*HISTORY, *replies, **more)
    await talk.harness.prompt("one")
    await talk.harness.prompt("two")
    talk.events.clear()
    return talk


async def test_an_overflow_is_recovered_from_by_one_compaction_and_one_more_request() -> None:
    talk = await with_history(fails(TOO_LONG), says("Done."))
    result = await talk.harness.prompt("three")
    assert result.text == "Done."
    assert talk.outline(*RECOVERY) == [
        "agent_start",
        "agent_end",
        "compaction_start overflow",
        "compaction_end overflow ok",
        "agent_start",
        "agent_end",
        "agent_settled",
    ]
    assert talk.entries()[-5:] == ["user", "assistant", "context_edit", "compaction", "assistant"]
    assert "SUMMARY" in talk.sent()[0]
    assert not any("prompt is too long" in text for text in talk.sent())
    talk.check()


async def test_a_second_overflow_in_a_row_is_told_and_not_recovered_from() -> None:
    talk = await with_history(fails(TOO_LONG), fails(TOO_LONG), says("Done."))
    result = await talk.harness.prompt("three")
    assert result.outcome == "error"
    assert talk.outline("compaction_start") == ["compaction_start overflow"]
    assert "after one compact-and-retry attempt" in talk.outline("compaction_end")[-1]
    assert talk.lines[-1] == "agent_settled"
    assert (await talk.harness.prompt("four")).text == "Done."


async def test_an_answer_between_two_overflows_allows_another_recovery() -> None:
    talk = await with_history(
        fails(TOO_LONG), says("x" * 400, call("echo", text="y" * 400)), fails(TOO_LONG), says("Done.")
    )
    assert (await talk.harness.prompt("three")).text == "Done."
    assert talk.outline("compaction_end") == ["compaction_end overflow ok"] * 2
    talk.check()


async def test_an_overflow_is_never_tried_again_as_a_failure_of_the_moment() -> None:
    overflow = fails("500: context_length_exceeded, please retry your request")
    talk = await with_history(overflow, says("never"), retry=QUICK, compaction=policy(enabled=False))
    await talk.harness.prompt("three")
    assert talk.outline(*RECOVERY) == ["agent_start", "agent_end", "agent_settled"]


async def test_a_retry_that_finds_the_window_full_is_over_and_the_recovery_begins() -> None:
    talk = await with_history(fails("503: overloaded"), fails(TOO_LONG), says("Done."), retry=QUICK)
    assert (await talk.harness.prompt("three")).text == "Done."
    assert talk.outline(*RECOVERY) == [
        "agent_start",
        "agent_end",
        "auto_retry_start 1",
        "agent_start",
        "agent_end",
        f"auto_retry_end 1 {TOO_LONG}",
        "compaction_start overflow",
        "compaction_end overflow ok",
        "agent_start",
        "agent_end",
        "agent_settled",
    ]
    talk.check()


async def test_a_recovery_whose_request_fails_for_a_moment_is_tried_again() -> None:
    talk = await with_history(fails(TOO_LONG), fails("503: overloaded"), says("Done."), retry=QUICK)
    assert (await talk.harness.prompt("three")).text == "Done."
    assert talk.outline("auto_retry_start", "auto_retry_end", "compaction_end") == [
        "compaction_end overflow ok",
        "auto_retry_start 1",
        "auto_retry_end 1 ok",
    ]
    talk.check()


async def test_a_summary_that_fails_leaves_the_failed_answer_out_and_makes_no_further_request() -> None:
    talk = await with_history(fails(TOO_LONG), summaries=[fails("400: no")])
    result = await talk.harness.prompt("three")
    assert result.outcome == "error"
    assert talk.outline("compaction_end") == ["compaction_end overflow Context overflow recovery failed: 400: no"]
    assert len(talk.model.requests) == 3
    assert talk.entries()[-2:] == ["assistant", "context_edit"]


async def test_an_answer_that_was_cut_short_by_a_full_window_is_asked_for_again() -> None:
    talk = await with_history(says("par", stop="length", tokens=(1000, 1)), says("Done."))
    assert (await talk.harness.prompt("three")).text == "Done."
    assert talk.outline("compaction_end") == ["compaction_end overflow ok"]
    assert "assistant: par" not in talk.sent()


async def test_an_answer_that_reached_its_own_limit_stands() -> None:
    talk = await with_history(says("long", stop="length", tokens=(1000, MODEL.max_tokens)))
    result = await talk.harness.prompt("three")
    assert (result.text, result.outcome) == ("long", "completed")
    assert talk.outline("compaction_start") == []


async def test_an_answer_that_came_although_the_window_was_full_stands_and_is_followed_by_a_compaction() -> None:
    talk = await with_history(says("Done.", tokens=(100_001, 5)))
    assert (await talk.harness.prompt("three")).text == "Done."
    assert talk.outline("compaction_start", "compaction_end") == [
        "compaction_start overflow",
        "compaction_end overflow ok",
    ]
    assert len(talk.model.requests) == 3


async def test_the_word_of_a_model_that_is_no_longer_selected_does_not_count() -> None:
    talk = await with_history(fails(TOO_LONG))
    other = replace(MODEL, id="scripted-2")

    async def switch(event: Any) -> None:
        if event.type == "message_start" and event.message.role == "assistant":
            await talk.harness.set_model(other)

    talk.harness.subscribe(switch)
    await talk.harness.prompt("three")
    assert talk.outline("compaction_start") == []


async def test_a_context_above_the_threshold_is_compacted_after_the_answer() -> None:
    talk = await with_history(says("Done.", tokens=(99_001, 0)), window=100_000)
    await talk.harness.prompt("three")
    assert talk.outline(*RECOVERY) == [
        "agent_start",
        "agent_end",
        "compaction_start threshold",
        "compaction_end threshold ok",
        "agent_settled",
    ]


async def test_a_context_at_the_threshold_is_not() -> None:
    talk = await with_history(says("Done.", tokens=(99_000, 0)), window=100_000)
    await talk.harness.prompt("three")
    assert talk.outline("compaction_start") == []


async def test_a_context_that_is_too_full_is_compacted_before_a_new_question() -> None:
    talk = await with_history(hangs("three"), says("Done."), window=100_000)
    asked = len(talk.model.requests)
    run = asyncio.create_task(talk.harness.prompt("x" * 500_000))
    await until(lambda: len(talk.model.requests) > asked)
    await talk.harness.abort()
    await run
    assert talk.outline("compaction_start") == []  # not behind an aborted answer
    await talk.harness.prompt("four")
    assert talk.outline("compaction_start") == ["compaction_start threshold"]
    assert talk.entries()[-3:] == ["compaction", "user", "assistant"]


async def test_a_context_that_becomes_too_full_within_a_run_is_compacted_between_turns() -> None:
    big = tool("big", _big)
    talk = await with_history(
        says(call("big")), says(call("big", "c2"), tokens=(400, 10)), says("Done."), tools=[big], window=10_000
    )
    await talk.harness.prompt("three")
    assert talk.outline("turn_end", "compaction_start", "agent_end")[:3] == [
        "turn_end 0 (1 results)",
        "compaction_start threshold",
        "turn_end 1 (1 results)",
    ]
    assert talk.outline("agent_end") == ["agent_end"]
    talk.check()


async def _big(id: str, arguments: dict[str, Any], signal: AbortSignal, update: OnUpdate) -> ToolResult:
    return ToolResult.of_text("x" * 40_000)


async def test_a_compaction_that_did_not_help_is_not_made_again_in_the_same_run() -> None:
    turns = [says(call("echo", f"c{n}", text="x" * 300), tokens=(9_500, 10)) for n in range(6)]
    prompt = PromptParts(base="P" * 40_000)  # alone above the threshold
    talk = await with_history(*turns, says("Done.", tokens=(100, 10)), window=10_000, prompt=prompt)
    await talk.harness.prompt("three")
    within = talk.lines[: talk.lines.index("agent_end")]
    assert within.count("compaction_start threshold") == 1


async def test_a_summary_that_fails_is_not_asked_for_at_every_turn() -> None:
    turns = [says(call("echo", f"c{n}"), tokens=(9_500, 10)) for n in range(6)]
    talk = await with_history(*turns, says("Done."), window=10_000, summaries=[fails("400: no")])
    await talk.harness.prompt("three")
    within = talk.lines[: talk.lines.index("agent_end")]
    assert len([line for line in within if line.startswith("compaction_end threshold Auto-compaction failed")]) == 1
    assert talk.lines[-1] == "agent_settled"


async def test_messages_that_come_during_a_compaction_after_the_answer_are_delivered_once_in_the_same_run() -> None:
    talk = await with_history(says("Done.", tokens=(99_500, 0)), says("And more."))

    async def queue(event: Any) -> None:
        if event.type == "compaction_start":
            await talk.harness.follow_up("later")

    talk.harness.subscribe(queue)
    await talk.harness.prompt("three")
    assert talk.stored()[-3:] == ["assistant: Done.", "user: later", "assistant: And more."]
    assert talk.lines.count("agent_settled") == 1
    talk.check()


async def test_messages_that_come_during_a_compaction_between_turns_are_delivered_once() -> None:
    talk = await with_history(says(call("echo", text="x" * 300), tokens=(99_500, 0)), says("Done."), says("And more."))

    async def queue(event: Any) -> None:
        if event.type == "compaction_start":
            await talk.harness.steer("sooner")
            await talk.harness.follow_up("later")

    talk.harness.subscribe(queue)
    await talk.harness.prompt("three")
    texts = [text for text in talk.stored() if text.startswith("user")]
    assert texts[-2:] == ["user: sooner", "user: later"] or texts.count("user: sooner") == 1
    assert [text for text in talk.stored() if text == "user: later"] == ["user: later"]
    assert not len(talk.harness.agent.steering)
    talk.check()


async def test_automatic_compaction_that_is_off_leaves_everything_alone() -> None:
    talk = await with_history(says("Done.", tokens=(99_500, 0)), fails(TOO_LONG), compaction=policy(enabled=False))
    await talk.harness.prompt("three")
    await talk.harness.prompt("four")
    assert talk.outline("compaction_start", "compaction_end") == []
