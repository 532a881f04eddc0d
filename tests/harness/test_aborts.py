"""An abort at each wait of a run outside of its requests and tools."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from piolet.harness.compaction.hook_points import SESSION_BEFORE_COMPACT
from piolet.harness.hook_points import AGENT_BEFORE_SETTLE, BEFORE_AGENT_START, TURN_END, Boundary
from tests.harness.talk import HISTORY, RUN, TOO_LONG, Harness
from tests.support.scripted_model import Reply, call, fails, hangs, says
from tests.support.virtual_time import now, run_jumping


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
