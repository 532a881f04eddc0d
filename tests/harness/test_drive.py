"""What happens around the agent runs of a run: messages that come meanwhile, retries, changes of the prompt."""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

import pytest
from msgspec.structs import replace

from piolet.agent.tools import AgentTool, OnUpdate, ToolResult
from piolet.base.abort import AbortSignal
from piolet.harness.errors import PromptFailed
from piolet.harness.events import AutoRetryEnd
from piolet.harness.prompt.parts import PromptParts
from piolet.harness.retry import RetryPolicy
from piolet.harness.session.errors import SessionError
from piolet.llm.messages import BaseMessage
from tests.agent.conversation import line, tool
from tests.harness.talk import QUICK, RUN, Harness
from tests.support.scripted_model import MODEL, Reply, call, fails, hangs, says
from tests.support.virtual_time import jumping, now, run_jumping

# ---- a run


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
