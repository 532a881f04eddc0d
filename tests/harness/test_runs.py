"""Runs of a harness: what happens around its agent runs, and what an abort or a new message does in between."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from piolet.harness.errors import HarnessBusy
from piolet.harness.retry import RetryPolicy
from piolet.llm.messages import AssistantMessage, UserMessage
from tests.agent.conversation import line
from tests.harness.talk import Harness
from tests.support.scripted_model import call, fails, hangs, says
from tests.support.timing import until
from tests.support.virtual_time import jumping, now, run_jumping


async def test_a_run_settles_once_and_is_stored() -> None:
    talk = Harness(says(call("echo", text="x")), says("Done."))
    result = await talk.harness.prompt("go")
    assert talk.lines[0] == "agent_start"
    assert talk.lines[-2:] == ["agent_end", "agent_settled"]
    assert talk.stored() == ["user: go", "assistant: ", "toolResult: x", "assistant: Done."]
    assert (result.text, result.outcome) == ("Done.", "completed")


async def test_a_message_that_is_queued_while_the_agent_run_ends_is_delivered_before_the_run_settles() -> None:
    talk = Harness(says("one"), says("two"))

    async def queue(event: Any) -> None:
        if event.type == "agent_end" and len(talk.model.requests) == 1:
            await talk.harness.steer("late")

    talk.harness.subscribe(queue)
    await talk.harness.prompt("go")
    assert talk.stored() == ["user: go", "assistant: one", "user: late", "assistant: two"]
    assert talk.lines.count("agent_settled") == 1
    assert talk.lines.count("agent_end") == 2


async def test_calls_that_were_cut_off_are_refused_and_the_model_tries_again_in_the_same_agent_run() -> None:
    talk = Harness(says(call("echo"), stop="length"), says("Shorter."))
    result = await talk.harness.prompt("go")
    assert result.text == "Shorter."
    assert talk.lines.count("agent_end") == 1
    assert [text.partition(":")[0] for text in talk.stored()] == ["user", "assistant", "toolResult", "assistant"]


async def test_an_aborted_run_settles_with_its_queue_as_it_was() -> None:
    talk = Harness(hangs("one"), says("two"))

    async def act(event: Any) -> None:
        if line(event) == "update text_delta":
            await talk.harness.follow_up("later")
            await talk.harness.abort()

    talk.harness.subscribe(act)
    result = await talk.harness.prompt("go")
    assert result.outcome == "aborted"
    assert talk.events[-1].type == "agent_settled"
    assert talk.events[-1].aborted
    assert len(talk.harness.agent.follow_ups) == 1
    assert talk.stored() == ["user: go", "assistant: one"]


def test_an_abort_ends_the_wait_before_a_retry_at_once() -> None:
    async def scenario() -> None:
        talk = Harness(fails("503: overloaded"), says("never"), retry=RetryPolicy(base_delay_ms=60_000))
        asyncio.get_running_loop().call_later(10, talk.harness._slot.abort)
        begin = now()
        await talk.harness.prompt("go")
        assert now() - begin == 10
        assert talk.lines[-4:] == [
            "agent_end",
            "auto_retry_start 1",
            "auto_retry_end 1 Retry cancelled",
            "agent_settled",
        ]
        end = talk.events[-2]
        assert (end.success, end.final_error) == (False, "Retry cancelled")
        assert len(talk.model.requests) == 1

    run_jumping(scenario())


@pytest.mark.parametrize("where", ["listener", "handler"])
def test_one_that_hangs_holds_up_an_abort_for_two_seconds_and_the_others_hear_everything(where: str) -> None:
    async def scenario() -> None:
        talk = Harness(says("Hi.", pause=1))

        async def hang(event: Any) -> None:
            await asyncio.sleep(3600)

        if where == "listener":
            talk.harness.subscribe(hang)
        else:
            for name in (
                "agent_start",
                "turn_start",
                "message_start",
                "message_end",
                "turn_end",
                "agent_end",
                "agent_settled",
            ):
                talk.harness.hooks.on(name, hang)
        heard: list[str] = []
        talk.harness.subscribe(lambda event: heard.append(line(event)))
        asyncio.get_running_loop().call_later(1, talk.harness._slot.abort)
        await talk.harness.prompt("go")
        assert 2 <= now() - 1 <= 4.5
        assert heard == [line(event) for event in talk.events]
        assert heard[-2:] == ["agent_end", "agent_settled"]
        assert talk.failures
        assert talk.stored()[0] == "user: go"

    run_jumping(scenario())


@jumping
async def test_the_next_run_may_be_started_by_a_handler_of_the_last_event() -> None:
    talk = Harness(says("one"), says(call("echo", text="x"), pause=0.01), says("two", pause=0.01))
    second: list[Any] = []

    async def again(event: Any) -> None:
        if event.type == "agent_settled" and not second:
            second.append(asyncio.create_task(talk.harness.prompt("again")))
            await asyncio.sleep(0.005)  # the next run is under way when this one ends

    talk.harness.subscribe(again)
    await talk.harness.prompt("go")
    await second[0]
    assert talk.stored() == [
        "user: go",
        "assistant: one",
        "user: again",
        "assistant: ",
        "toolResult: x",
        "assistant: two",
    ]
    assert talk.lines.count("agent_settled") == 2


async def test_a_second_run_is_refused_and_names_what_is_under_way() -> None:
    talk = Harness(hangs("one"))
    run = asyncio.create_task(talk.harness.prompt("go"))
    await until(lambda: talk.model.requests)
    with pytest.raises(HarnessBusy, match="a run is under way"):
        await talk.harness.prompt("me too")
    await talk.harness.abort()
    await run
    assert talk.stored() == ["user: go", "assistant: one"]


async def test_a_caller_with_a_deadline_is_back_in_time_and_the_run_settles_by_itself() -> None:
    talk = Harness(hangs("one"), says("two"))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await talk.harness.prompt("go")
    await talk.harness.wait_idle()
    assert talk.events[-1].aborted
    await talk.harness.prompt("again")
    kept = talk.harness.agent.messages
    assert [m.role for m in kept if not isinstance(m, AssistantMessage)] == ["user", "user"]
    assert [m.stop_reason for m in kept if isinstance(m, AssistantMessage)] == ["aborted", "stop"]
    assert isinstance(kept[0], UserMessage)


async def test_leaving_a_stream_early_aborts_the_run() -> None:
    talk = Harness(hangs("one"))
    async for event in talk.harness.stream("go"):
        if event.type == "message_update":
            break
    await asyncio.sleep(0)
    await talk.harness.wait_idle()
    assert talk.events[-1].type == "agent_settled"
    assert talk.events[-1].aborted


async def test_an_idle_harness_holds_no_task() -> None:
    before = asyncio.all_tasks()
    talk = Harness(says("Hi."))
    await talk.harness.prompt("go")
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == before
