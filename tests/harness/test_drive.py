"""What happens around the agent runs of a run: retries, full windows, failing disks, and an abort at each wait."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any, ClassVar

import pytest
from msgspec.structs import replace

from piolet.agent.tools import AgentTool, OnUpdate, ToolResult
from piolet.base.abort import AbortSignal
from piolet.harness.compaction.hook_points import SESSION_BEFORE_COMPACT
from piolet.harness.errors import PromptFailed
from piolet.harness.events import AutoRetryEnd
from piolet.harness.hook_points import AGENT_BEFORE_SETTLE, BEFORE_AGENT_START, TURN_END, Boundary
from piolet.harness.messages import BashExecutionMessage, CustomMessage
from piolet.harness.prompt.parts import PromptParts
from piolet.harness.retry import RetryPolicy
from piolet.harness.session.errors import SessionError
from piolet.harness.session.session import Session
from piolet.llm.messages import BaseMessage
from tests.agent.conversation import tool
from tests.harness.talk import Harness, policy, told_message
from tests.support.scripted_model import MODEL, Reply, call, fails, hangs, says
from tests.support.virtual_time import now, run_jumping

RUN = ("agent_start", "agent_end", "agent_settled", "auto_retry_start", "auto_retry_end")
RECOVERY = (*RUN, "compaction_start", "compaction_end")
QUICK = RetryPolicy(base_delay_ms=1)
TOO_LONG = "prompt is too long: 250000 tokens > 200000 maximum"


# ---- retries


async def test_a_request_that_failed_for_a_moment_is_tried_again_without_its_failed_answer() -> None:
    talk = Harness(fails("503: overloaded", "par"), says("Done."), retry=QUICK)
    result = await talk.harness.prompt("go")
    assert result.text == "Done."
    assert talk.outline(*RUN) == [
        "agent_start",
        "agent_end",
        "auto_retry_start 1",
        "agent_start",
        "auto_retry_end 1 ok",
        "agent_end",
        "agent_settled",
    ]
    assert talk.sent() == ["user: go"]
    assert talk.entries() == ["user", "assistant", "context_edit", "assistant"]
    assert [event.will_retry for event in talk.events if event.type == "agent_end"] == [True, False]
    talk.check()


async def test_retries_end_with_the_last_error_and_the_next_run_counts_anew() -> None:
    talk = Harness(*[fails("503: overloaded")] * 5, says("Done."), retry=RetryPolicy(max_retries=2, base_delay_ms=1))
    result = await talk.harness.prompt("go")
    assert result.outcome == "error"
    assert talk.outline("auto_retry_start", "auto_retry_end") == [
        "auto_retry_start 1",
        "auto_retry_start 2",
        "auto_retry_end 2 503: overloaded",
    ]
    talk.events.clear()
    assert (await talk.harness.prompt("again")).text == "Done."
    assert talk.outline("auto_retry_start", "auto_retry_end") == [
        "auto_retry_start 1",
        "auto_retry_start 2",
        "auto_retry_end 2 ok",
    ]


@pytest.mark.parametrize("then", [fails("401: bad key"), hangs("thinking")], ids=["fails for good", "is aborted"])
def test_a_retry_is_told_to_be_over_whatever_becomes_of_it(then: Reply) -> None:
    async def scenario() -> None:
        talk = Harness(fails("503: overloaded"), then, retry=QUICK)
        asyncio.get_running_loop().call_later(5, talk.harness.request_abort)
        await talk.harness.prompt("go")
        end = [event for event in talk.events if isinstance(event, AutoRetryEnd)]
        assert [(event.success, event.attempt) for event in end] == [(False, 1)]
        assert talk.lines[-1] == "agent_settled"

    run_jumping(scenario())


async def test_a_turn_in_the_middle_of_a_run_is_tried_again_without_running_its_tools_twice() -> None:
    ran: list[str] = []

    async def note(id: str, arguments: dict[str, Any], signal: AbortSignal, update: OnUpdate) -> ToolResult:
        ran.append(id)
        return ToolResult.of_text("noted")

    talk = Harness(says(call("note")), fails("503: overloaded"), says("Done."), retry=QUICK, tools=[tool("note", note)])
    assert (await talk.harness.prompt("go")).text == "Done."
    assert ran == ["c1"]
    assert talk.sent() == ["user: go", "assistant: ", "toolResult: noted"]


def test_each_wait_is_twice_the_one_before() -> None:
    async def scenario() -> None:
        talk = Harness(*[fails("503: overloaded")] * 3, says("Done."), retry=RetryPolicy(base_delay_ms=2000))
        await talk.harness.prompt("go")
        assert now() == 2 + 4 + 8

    run_jumping(scenario())


async def test_without_a_policy_nothing_is_tried_again() -> None:
    talk = Harness(fails("503: overloaded"), retry=RetryPolicy(enabled=False))
    await talk.harness.prompt("go")
    assert talk.outline(*RUN) == ["agent_start", "agent_end", "agent_settled"]


def test_abort_retry_ends_the_wait_and_settles_the_run_without_aborting_it() -> None:
    async def scenario() -> None:
        talk = Harness(fails("503: overloaded"), says("never"), retry=RetryPolicy(base_delay_ms=60_000))
        asyncio.get_running_loop().call_later(10, talk.harness.abort_retry)
        await talk.harness.prompt("go")
        assert now() == 10
        assert talk.lines[-2:] == ["auto_retry_end 1 Retry cancelled", "agent_settled"]
        assert not talk.events[-1].aborted
        talk.harness.abort_retry()  # nothing to end any more

    run_jumping(scenario())


def test_a_message_that_comes_during_the_wait_is_delivered_with_the_next_try() -> None:
    async def scenario() -> None:
        talk = Harness(fails("503: overloaded"), says("Done."), retry=RetryPolicy(base_delay_ms=10_000))
        run = asyncio.create_task(talk.harness.prompt("go"))
        await asyncio.sleep(5)
        await talk.harness.steer("more")
        await run
        assert talk.sent() == ["user: go", "user: more"]
        assert talk.lines.count("agent_settled") == 1

    run_jumping(scenario())


# ---- full windows

HISTORY = (says("first " + "x" * 400), says("second " + "x" * 400))


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
    run = asyncio.create_task(talk.harness.prompt("x" * 500_000))
    await asyncio.sleep(0.01)
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


# ---- a disk that takes no more


@pytest.fixture
def stored(tmp_path: Path) -> Session:
    return Session.create(str(tmp_path), str(tmp_path / "sessions"))


class FullDisk:
    """Makes the file of a session unwritable for what is under way, by way of the file itself."""

    def __init__(self, session: Session) -> None:
        assert session.path is not None
        self.path = session.path
        self.moved = self.path + ".away"

    def fill(self) -> None:
        """Put a folder where the file was: no append can succeed."""
        os.rename(self.path, self.moved)
        os.mkdir(self.path)

    def free(self) -> None:
        os.rmdir(self.path)
        os.rename(self.moved, self.path)


@pytest.mark.parametrize("when", ["message_update", "tool_execution_start", "turn_end", "agent_end"])
async def test_a_disk_that_refuses_stops_the_run_and_the_caller_is_told(stored: Session, when: str) -> None:
    replies = [says("one"), says(call("echo", text="x")), says("two"), says("three")]
    talk = Harness(*replies, session=stored)
    await talk.harness.prompt("first")
    disk = FullDisk(stored)
    done: list[bool] = []

    def fill(event: Any) -> None:
        if event.type == when and not done:
            done.append(True)
            disk.fill()

    unsubscribe = talk.harness.subscribe(fill)
    if when == "agent_end":
        await talk.harness.prompt("go")  # everything was stored before
    else:
        with pytest.raises(SessionError):
            await talk.harness.prompt("go")
        assert talk.lines[-1] == "agent_settled"
    unsubscribe()
    disk.free()
    assert (await talk.harness.prompt("again")).outcome == "completed"
    talk.check()
    await talk.harness.close()
    with Session.open(disk.path) as again:
        assert not again.problems
        texts = [told_message(message) for message in again.build_context().messages]
        assert texts[:2] == ["user: first", "assistant: one"]
        assert "user: again" in texts


async def test_a_question_that_cannot_be_stored_is_refused_and_nothing_is_asked(stored: Session) -> None:
    talk = Harness(says("one"), says("two"), session=stored)
    await talk.harness.prompt("first")
    disk = FullDisk(stored)
    disk.fill()
    with pytest.raises(SessionError):
        await talk.harness.prompt("go")
    assert len(talk.model.requests) == 1
    disk.free()
    assert (await talk.harness.prompt("again")).text == "two"
    assert [text for text in talk.stored() if "go" in text] == []


async def test_messages_that_were_queued_are_not_lost_when_the_disk_refuses(stored: Session) -> None:
    talk = Harness(says("one"), says(call("echo")), says("three"), says("four"), session=stored)
    await talk.harness.prompt("first")
    disk = FullDisk(stored)

    async def act(event: Any) -> None:
        if event.type == "tool_execution_end":
            await talk.harness.steer("sooner")
            await talk.harness.follow_up("later")
        elif event.type == "turn_end" and event.tool_results:
            disk.fill()

    unsubscribe = talk.harness.subscribe(act)
    with pytest.raises(SessionError):
        await talk.harness.prompt("go")
    unsubscribe()
    talk.harness.next_turn("beside")
    with pytest.raises(SessionError):
        await talk.harness.prompt("refused")
    disk.free()
    await talk.harness.prompt("again")
    users = [text for text in talk.stored() if text.startswith("user")]
    assert users == ["user: first", "user: go", "user: again", "user: beside", "user: sooner", "user: later"]
    talk.check()


async def test_a_compaction_that_cannot_be_stored_is_told_as_failed_and_stops_the_run(stored: Session) -> None:
    talk = Harness(*HISTORY, says("Done.", tokens=(99_500, 0)), says("more"), session=stored)
    await talk.harness.prompt("one")
    await talk.harness.prompt("two")
    disk = FullDisk(stored)
    talk.harness.subscribe(lambda event: disk.fill() if event.type == "compaction_start" else None)
    with pytest.raises(SessionError):
        await talk.harness.prompt("three")
    assert len(talk.outline("compaction_end")) == 1
    assert "Auto-compaction failed" in talk.outline("compaction_end")[0]
    assert not talk.harness.is_compacting
    disk.free()


async def test_what_waited_for_the_end_of_a_run_is_not_lost_when_the_disk_refuses(stored: Session) -> None:
    talk = Harness(says("one"), says("two"), says("three"), session=stored)
    await talk.harness.prompt("first")
    disk = FullDisk(stored)
    command = BashExecutionMessage("ls", "a", cancelled=False, truncated=False, timestamp=0, exit_code=0)

    async def act(event: Any) -> None:
        if event.type == "turn_end" and not os.path.isdir(disk.path):
            await talk.harness.append(command, when="idle")
            disk.fill()

    unsubscribe = talk.harness.subscribe(act)
    with pytest.raises(SessionError):
        await talk.harness.prompt("go")
    unsubscribe()
    disk.free()
    await talk.harness.prompt("again")
    assert [text for text in talk.stored() if text.startswith("bash")] == ["bashExecution: "]


async def test_details_without_a_json_form_stop_the_run_with_a_word_about_them() -> None:
    async def odd(id: str, arguments: dict[str, Any], signal: AbortSignal, update: OnUpdate) -> ToolResult:
        return ToolResult.of_text("x", details={"path": Path("/")})

    talk = Harness(says(call("odd")), says("never"), says("Done."), tools=[tool("odd", odd)])
    with pytest.raises(SessionError, match="PosixPath"):
        await talk.harness.prompt("go")
    assert talk.lines[-1] == "agent_settled"
    assert talk.lines.count("agent_end") == 1
    talk.model.replies[1:] = [says("Done.")]
    assert (await talk.harness.prompt("again")).text == "Done."


async def test_a_queued_message_that_can_never_be_stored_fails_one_run_and_not_the_next() -> None:
    talk = Harness(says("one"), says("two"), says("three"))
    await talk.harness.steer(CustomMessage("note", "x", True, 0, details=object()))
    with pytest.raises(SessionError, match="object has no JSON form"):
        await talk.harness.prompt("go")
    assert (await talk.harness.prompt("again")).outcome == "completed"


# ---- an abort at each wait


async def hang(event: Any = None) -> None:
    await asyncio.sleep(3600)


def compacting_harness() -> Harness:
    return Harness(*HISTORY, last=says("more"), window=10_000, summaries=[hangs("SUM")])


async def fill_before(talk: Harness) -> None:
    """Let the next question find the context too full."""
    await talk.harness.prompt("one")
    await talk.harness.prompt("two")
    talk.model.replies[2:] = [hangs("three")]
    run = asyncio.create_task(talk.harness.prompt("x" * 50_000))
    await asyncio.sleep(1)
    await talk.harness.abort()
    await run
    talk.model.replies.clear()
    talk.events.clear()


def abort_after(talk: Harness, seconds: float) -> None:
    asyncio.get_running_loop().call_later(seconds, talk.harness.request_abort)


def test_in_before_agent_start_the_question_is_kept_and_nothing_is_sent() -> None:
    async def scenario() -> None:
        talk = Harness(says("never"))
        talk.harness.hooks.on(BEFORE_AGENT_START, hang)
        abort_after(talk, 5)
        result = await talk.harness.prompt("go")
        assert now() == 5 + 2
        assert result.outcome == "aborted"
        assert talk.model.requests == []
        assert talk.stored() == ["user: go", "assistant: "]
        talk.check()

    run_jumping(scenario())


def test_in_a_compaction_before_the_question_the_question_is_kept_and_nothing_is_sent() -> None:
    async def scenario() -> None:
        talk = compacting_harness()
        await fill_before(talk)
        asked = len(talk.model.requests)
        begin = now()
        abort_after(talk, 5)
        result = await talk.harness.prompt("three")
        assert now() - begin == 5
        assert result.outcome == "aborted"
        assert talk.outline("compaction_end") == ["compaction_end threshold aborted"]
        assert talk.stored()[-2:] == ["user: three", "assistant: "]
        assert len(talk.model.requests) == asked
        assert "compaction" not in talk.entries()
        talk.check()

    run_jumping(scenario())


def test_in_a_compaction_between_turns_the_run_ends_there() -> None:
    async def scenario() -> None:
        talk = Harness(
            *HISTORY, says(call("echo"), tokens=(9_900, 0)), says("never"), window=10_000, summaries=[hangs("SUM")]
        )
        await talk.harness.prompt("one")
        await talk.harness.prompt("two")
        begin = now()
        abort_after(talk, 5)
        await talk.harness.prompt("three")
        assert now() - begin == 5
        assert talk.outline("compaction_end") == ["compaction_end threshold aborted"]
        assert len(talk.model.requests) == 3
        assert talk.outline(*RUN)[-2:] == ["agent_end", "agent_settled"]
        talk.check()

    run_jumping(scenario())


@pytest.mark.parametrize("answer", [says("three", tokens=(9_900, 0)), fails(TOO_LONG)], ids=["threshold", "overflow"])
def test_in_a_compaction_after_the_answer_the_run_settles_without_it(answer: Reply) -> None:
    async def scenario() -> None:
        talk = Harness(*HISTORY, answer, says("never"), window=10_000, summaries=[hangs("SUM")])
        await talk.harness.prompt("one")
        await talk.harness.prompt("two")
        await talk.harness.follow_up("later")
        begin = now()
        abort_after(talk, 5)
        await talk.harness.prompt("three")
        assert now() - begin == 5
        assert talk.outline("compaction_end")[0].endswith("aborted")
        assert talk.events[-1].aborted
        talk.check()

    run_jumping(scenario())


def test_in_a_handler_of_a_compaction_the_end_is_told_all_the_same() -> None:
    async def scenario() -> None:
        talk = Harness(*HISTORY, says(call("echo"), tokens=(9_900, 0)), window=10_000)
        await talk.harness.prompt("one")
        await talk.harness.prompt("two")
        talk.harness.hooks.on(SESSION_BEFORE_COMPACT, hang)
        abort_after(talk, 5)
        await talk.harness.prompt("three")
        assert talk.outline("compaction_start", "compaction_end") == [
            "compaction_start threshold",
            "compaction_end threshold aborted",
        ]
        assert talk.lines[-1] == "agent_settled"
        assert not talk.harness.is_compacting

    run_jumping(scenario())


def test_a_summary_that_does_not_listen_is_dropped_after_two_seconds() -> None:
    async def scenario() -> None:
        talk = Harness(*HISTORY, says("three", tokens=(9_900, 0)), window=10_000, summaries=[hangs("SUM", deaf=True)])
        await talk.harness.prompt("one")
        await talk.harness.prompt("two")
        begin = now()
        abort_after(talk, 5)
        await talk.harness.prompt("three")
        assert now() - begin == 5 + 2
        assert talk.outline("compaction_end") == ["compaction_end threshold aborted"]

    run_jumping(scenario())


@pytest.mark.parametrize("hook", [TURN_END, AGENT_BEFORE_SETTLE], ids=["turn_end", "agent_before_settle"])
def test_in_a_handler_between_requests_the_run_settles(hook: Any) -> None:
    async def scenario() -> None:
        talk = Harness(says("one"), says("never"))
        talk.harness.hooks.on(hook, hang)
        abort_after(talk, 5)
        result = await talk.harness.prompt("go")
        assert 5 + 2 <= now() <= 5 + 3
        assert result.outcome == "aborted"
        assert talk.lines[-1] == "agent_settled"
        assert len(talk.model.requests) == 1

    run_jumping(scenario())


async def test_a_handler_cannot_continue_an_aborted_run() -> None:
    talk = Harness(hangs("one"), says("never"))
    outcomes: list[str] = []

    def more(event: Any) -> Boundary:
        outcomes.append(event.outcome)
        return Boundary(continue_=True)

    talk.harness.hooks.on(AGENT_BEFORE_SETTLE, more)
    talk.harness.subscribe(lambda event: talk.harness.request_abort() if event.type == "message_update" else None)
    await talk.harness.prompt("go")
    assert outcomes == ["aborted"]
    assert len(talk.model.requests) == 1


# ---- the prompt


async def test_the_prompt_is_built_again_before_each_request() -> None:
    texts = iter(["one", "two", "three", "four"])
    talk = Harness(
        says(call("echo")),
        fails("503: overloaded"),
        says("Done."),
        retry=QUICK,
        prompt=PromptParts(lambda: next(texts)),
    )
    await talk.harness.prompt("go")
    prompts = [(request.context.system_prompt or "").split("\n")[0] for request in talk.model.requests]
    assert prompts == ["one", "two", "three"]


@pytest.mark.parametrize("first", [True, False], ids=["first request", "later request"])
async def test_a_part_of_the_prompt_that_raises_ends_the_run_with_its_words(first: bool) -> None:
    asked: list[int] = []

    def part() -> str:
        asked.append(1)
        if len(asked) > (0 if first else 1):
            raise OSError("AGENTS.md is gone")
        return "fine"

    talk = Harness(says(call("echo")), says("never"), prompt=PromptParts(part))
    if first:
        with pytest.raises(PromptFailed, match=r"AGENTS\.md is gone"):
            await talk.harness.prompt("go")
        assert talk.stored() == []
    else:
        result = await talk.harness.prompt("go")
        assert result.final is not None
        assert "AGENTS.md is gone" in (result.final.error_message or "")
    assert talk.lines[-1] == "agent_settled"
    talk.check()


async def test_a_change_of_tools_within_a_run_reaches_the_next_request_and_its_prompt() -> None:
    talk = Harness(says(call("swap")), says("Done."))

    async def swap(id: str, arguments: dict[str, Any], signal: AbortSignal, update: OnUpdate) -> ToolResult:
        talk.harness.set_active_tools(["late", "nosuch"])
        return ToolResult.of_text("swapped")

    late = AgentTool("late", "Late.", {"type": "object"}, swap, prompt_snippet="comes late")
    talk.harness.set_tools([tool("swap", swap), late], ["swap"])
    await talk.harness.prompt("go")
    first, second = (request.context for request in talk.model.requests)
    assert [spec.name for spec in first.tools] == ["swap"]
    assert [spec.name for spec in second.tools] == ["late"]
    assert "comes late" not in (first.system_prompt or "")
    assert "comes late" in (second.system_prompt or "")


async def test_a_change_of_model_and_level_within_a_run_reaches_the_next_request() -> None:
    other = replace(MODEL, id="scripted-2", reasoning=True)
    talk = Harness(says(call("swap")), says("Done."))

    async def swap(id: str, arguments: dict[str, Any], signal: AbortSignal, update: OnUpdate) -> ToolResult:
        await talk.harness.set_model(other)
        await talk.harness.set_thinking_level("high")
        return ToolResult.of_text("swapped")

    talk.harness.set_tools([tool("swap", swap)], ["swap"])
    await talk.harness.prompt("go")
    assert [request.model.id for request in talk.model.requests] == ["scripted-1", "scripted-2"]
    assert [request.options.reasoning for request in talk.model.requests] == ["off", "high"]
    assert talk.entries() == ["user", "assistant", "model_change", "thinking_level_change", "toolResult", "assistant"]
    talk.check()


async def test_a_message_of_a_kind_that_cannot_be_stored_is_refused_before_anything_is_asked() -> None:
    class Own(BaseMessage, frozen=True, tag="own"):
        role: ClassVar[str] = "own"

    talk = Harness(says("never"))
    with pytest.raises(SessionError, match="CustomMessage"):
        await talk.harness.prompt(Own())
    assert talk.model.requests == []
    assert talk.lines == ["agent_settled"]
