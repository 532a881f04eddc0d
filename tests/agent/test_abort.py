"""An abort at every await of a run: what is told, what is kept, how long it takes (RPC specification, section 2)."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from piolet.agent.batch import PendingCall
from piolet.agent.loop import Turn
from piolet.agent.tools import AgentTool, OnUpdate, ToolResult
from piolet.base.abort import AbortController, AbortSignal, sleep
from tests.agent.conversation import ECHO, Conversation, check_context, check_events, tool
from tests.support.scripted_model import call, hangs, says
from tests.support.virtual_time import now, run_jumping

#: How a run ends that is aborted where no request was made yet.
EMPTY_TURN_1 = ["turn_start 1", "start assistant aborted", "end assistant aborted", "turn_end 1", "agent_end"]


def waiting_tool(listens: bool = True, stubborn: bool = False) -> AgentTool:
    """A tool that ends on an abort, or only when it is cancelled, or (stubborn) not even then."""

    async def execute(id: str, arguments: dict[str, Any], signal: AbortSignal, on_update: OnUpdate) -> ToolResult:
        if listens:
            await signal.wait()
            return ToolResult.of_text("Command aborted", is_error=True)
        end = now() + 60
        while now() < end:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                if not stubborn:
                    raise
        return ToolResult.of_text("at last")

    return tool("wait", execute)


async def prompt_and_abort(talk: Conversation, at: Callable[[Any], bool]) -> float:
    """Prompt, abort at the first event for which `at` holds; return the seconds from the abort to the end."""
    aborted_at: list[float] = []

    def act(event: Any) -> None:
        if not aborted_at and at(event):
            aborted_at.append(now())
            talk.agent.abort()

    talk.agent.subscribe(act)
    await talk.agent.prompt("go")
    assert aborted_at, "the abort never came"
    check_events(talk.events)
    check_context(talk.agent.messages)
    return now() - aborted_at[0]


async def prompt_and_abort_after(talk: Conversation, seconds: float) -> float:
    """Prompt, abort after `seconds`; return the seconds from the abort to the end."""
    asyncio.get_running_loop().call_later(seconds, talk.agent.abort)
    begin = now()
    await talk.agent.prompt("go")
    check_events(talk.events)
    check_context(talk.agent.messages)
    return now() - begin - seconds


def is_(kind: str) -> Callable[[Any], bool]:
    return lambda event: event.type == kind


def streamed(kind: str) -> Callable[[Any], bool]:
    return lambda event: event.type == "message_update" and event.assistant_message_event.type == kind


# ----------------------------------------------------------------------------------------------------------- requests


async def test_before_the_first_request_nothing_is_sent() -> None:
    talk = Conversation(says("never"))
    await prompt_and_abort(talk, is_("agent_start"))
    assert talk.lines == [
        "agent_start",
        "turn_start 0",
        "start user go",
        "end user go",
        "start assistant aborted",
        "end assistant aborted",
        "turn_end 0",
        "agent_end",
    ]
    assert talk.last.error_message == "This operation was aborted"
    assert talk.last.content == []
    assert talk.model.requests == []


def test_while_the_request_waits_for_its_first_event() -> None:
    async def scenario() -> None:
        talk = Conversation(says("late", delay=60))
        assert await prompt_and_abort_after(talk, 1) == 0
        assert talk.lines[4:] == ["start assistant aborted", "end assistant aborted", "turn_end 0", "agent_end"]
        assert talk.last.error_message == "Request was aborted"

    run_jumping(scenario())


def test_while_streaming_the_partial_answer_is_kept() -> None:
    async def scenario() -> None:
        talk = Conversation(hangs("one "))
        assert await prompt_and_abort_after(talk, 1) == 0
        assert talk.lines[4:] == [
            "start assistant pending",
            "update text_start",
            "update text_delta",
            "update text_end",
            "end assistant aborted",
            "turn_end 0",
            "agent_end",
        ]
        assert (talk.last.text, talk.last.error_message) == ("one ", "Request was aborted")

    run_jumping(scenario())


@pytest.mark.parametrize("kind", ["text_start", "text_delta", "text_end"])
async def test_between_two_events_of_the_stream(kind: str) -> None:
    talk = Conversation(says("one", call("echo")), says("never"))
    await prompt_and_abort(talk, streamed(kind))
    assert talk.lines[-3:] == ["end assistant aborted", "turn_end 0", "agent_end"]
    assert talk.last.error_message == "Request was aborted"
    assert len(talk.model.requests) == 1


async def test_calls_of_an_aborted_answer_are_not_run() -> None:
    talk = Conversation(says(call("echo", "c1"), call("echo", "c2")), says("never"))
    await prompt_and_abort(talk, streamed("toolcall_end"))
    assert not any(line.startswith("run") for line in talk.lines)


def test_a_stream_that_ignores_its_signal_is_dropped_after_two_seconds() -> None:
    async def scenario() -> None:
        talk = Conversation(hangs("one ", deaf=True))
        assert await prompt_and_abort_after(talk, 1) == 2
        assert talk.lines[-3:] == ["end assistant aborted", "turn_end 0", "agent_end"]
        assert (talk.last.text, talk.last.error_message) == ("one ", "Request was aborted")

    run_jumping(scenario())


def test_a_stream_that_goes_on_and_on_after_an_abort_is_dropped_too() -> None:
    async def scenario() -> None:
        endless = says(*[f"{n} " for n in range(1000)], pause=0.5)
        talk = Conversation(type(endless)(endless.blocks, "stop", pause=0.5, deaf=True))
        assert await prompt_and_abort_after(talk, 1.25) <= 3
        assert talk.last.stop_reason == "aborted"

    run_jumping(scenario())


async def test_an_answer_that_ended_before_the_abort_was_seen_counts_as_it_is() -> None:
    talk = Conversation(says("whole"))
    await prompt_and_abort(talk, lambda event: event.type == "message_end" and event.message.role == "assistant")
    assert talk.lines[-3:] == ["end assistant stop", "turn_end 0", "agent_end"]
    assert len(talk.model.requests) == 1


# -------------------------------------------------------------------------------------------------------------- tools


def test_during_a_tool_its_result_is_an_error_and_one_more_turn_says_so_without_a_request() -> None:
    async def scenario() -> None:
        talk = Conversation(says(call("wait")), says("never"), tools=[waiting_tool()])
        assert await prompt_and_abort_after(talk, 1) == 0
        assert talk.outline[6:] == [
            "run c1",
            "ran c1 (error)",
            "start result c1",
            "end result c1",
            "turn_end 0 (1 results)",
            *EMPTY_TURN_1,
        ]
        assert talk.results() == ["Command aborted"]
        assert (talk.last.content, talk.last.error_message) == ([], "This operation was aborted")
        assert len(talk.model.requests) == 1

    run_jumping(scenario())


def test_a_tool_that_ignores_its_signal_is_cancelled_after_two_seconds() -> None:
    async def scenario() -> None:
        talk = Conversation(says(call("wait")), tools=[waiting_tool(listens=False)])
        assert await prompt_and_abort_after(talk, 1) == 2
        assert talk.results() == ["Operation aborted"]
        assert talk.outline[-5:] == EMPTY_TURN_1

    run_jumping(scenario())


def test_a_tool_that_ignores_its_cancellation_is_left_behind_one_second_later() -> None:
    async def scenario() -> None:
        talk = Conversation(says(call("wait")), tools=[waiting_tool(listens=False, stubborn=True)])
        assert await prompt_and_abort_after(talk, 1) == 3
        assert talk.results() == ["Operation aborted"]
        await asyncio.sleep(60)  # it ends by itself; nobody listens

    run_jumping(scenario())


def test_each_call_of_a_batch_is_answered_whatever_its_tool_does_on_an_abort() -> None:
    async def scenario() -> None:
        tools = [waiting_tool(), ECHO, tool("deaf", waiting_tool(listens=False).execute)]
        calls = call("wait", "c1"), call("echo", "c2"), call("deaf", "c3"), call("nosuch", "c4")
        talk = Conversation(says(*calls), tools=tools)
        assert await prompt_and_abort_after(talk, 1) == 2
        assert talk.results() == ["Command aborted", "ok", "Operation aborted", "Tool nosuch not found"]

    run_jumping(scenario())


def test_in_a_sequential_batch_the_calls_that_did_not_start_are_refused() -> None:
    async def scenario() -> None:
        calls = call("wait", "c1"), call("echo", "c2"), call("echo", "c3")
        talk = Conversation(says(*calls), tools=[waiting_tool(), ECHO], tool_execution="sequential")
        await prompt_and_abort_after(talk, 1)
        assert [line for line in talk.outline if line.startswith("ra")] == [f"ran c{n} (error)" for n in (1, 2, 3)]
        assert talk.results() == ["Command aborted", "Operation aborted", "Operation aborted"]

    run_jumping(scenario())


async def test_at_the_start_of_a_call() -> None:
    ran: list[str] = []

    async def execute(id: str, arguments: dict[str, Any], signal: AbortSignal, on_update: OnUpdate) -> ToolResult:
        ran.append(id)
        return ToolResult.of_text("")

    talk = Conversation(says(call("t", "c1"), call("t", "c2")), tools=[tool("t", execute)])
    await prompt_and_abort(talk, is_("tool_execution_start"))
    assert ran == []
    assert talk.results() == ["Operation aborted"] * 2
    assert talk.outline[-5:] == EMPTY_TURN_1


@pytest.mark.parametrize("kind", ["tool_execution_end", "turn_end"])
async def test_after_a_tool_the_next_turn_is_empty(kind: str) -> None:
    talk = Conversation(says(call("echo")), says("never"))
    await prompt_and_abort(talk, is_(kind))
    assert talk.results() == ["ok"]
    assert talk.outline[-5:] == EMPTY_TURN_1
    assert len(talk.model.requests) == 1


# -------------------------------------------------------------------------------------------------------------- hooks

HOOKS = [
    "transform_context",
    "get_api_key",
    "before_tool_call",
    "after_tool_call",
    "finalize_message",
    "prepare_next_turn",
    "should_stop_after_turn",
    "get_steering_messages",
    "get_follow_up_messages",
]


def waiting(name: str, how: Callable[[AbortSignal], Awaitable[None]]) -> Conversation:
    """A conversation whose callback `name` waits in the way of `how` whenever it is asked."""

    async def callback(*args: Any) -> Any:
        assert talk.agent.signal is not None
        await how(talk.agent.signal)
        return args[0] if name in ("transform_context", "finalize_message") else None

    talk = Conversation(says(call("echo")), says("Done."), **{name: callback})
    return talk


@pytest.mark.parametrize("name", HOOKS)
def test_a_callback_that_hangs_has_two_seconds_after_an_abort(name: str) -> None:
    async def scenario() -> None:
        talk = waiting(name, lambda signal: asyncio.sleep(3600))
        took = await prompt_and_abort_after(talk, 1)
        # finalize_message is asked about each message that ends after the abort
        ends = sum(line.startswith("end") for line in talk.lines)
        assert took == (2 * ends if name == "finalize_message" else 2)
        assert talk.lines[-1] == "agent_end"
        assert talk.last.stop_reason == ("stop" if name == "get_follow_up_messages" else "aborted")

    run_jumping(scenario())


@pytest.mark.parametrize("name", HOOKS)
def test_a_callback_that_listens_ends_the_run_at_once(name: str) -> None:
    async def scenario() -> None:
        talk = waiting(name, lambda signal: sleep(3600, signal))
        assert await prompt_and_abort_after(talk, 1) == 0
        assert talk.last.stop_reason == ("stop" if name == "get_follow_up_messages" else "aborted")

    run_jumping(scenario())


def test_before_a_call_runs_a_hook_that_hangs_refuses_it() -> None:
    async def scenario() -> None:
        async def before(pending: PendingCall) -> None:
            await asyncio.sleep(3600)

        talk = Conversation(says(call("echo", "c1"), call("echo", "c2")), before_tool_call=before)
        assert await prompt_and_abort_after(talk, 1) == 2
        assert talk.results() == ["Operation aborted"] * 2
        assert talk.outline[6:10] == ["run c1", "ran c1 (error)", "run c2", "ran c2 (error)"]

    run_jumping(scenario())


async def test_an_abort_inside_a_hook_before_a_call() -> None:
    async def before(pending: PendingCall) -> None:
        talk.agent.abort()

    talk = Conversation(says(call("echo", "c1"), call("echo", "c2")), says("never"), before_tool_call=before)
    await talk.agent.prompt("go")
    assert talk.results() == ["Operation aborted"] * 2
    assert talk.outline[-5:] == EMPTY_TURN_1


@pytest.mark.parametrize("name", ["prepare_next_turn", "should_stop_after_turn"])
async def test_an_abort_inside_a_callback_between_turns(name: str) -> None:
    async def callback(turn: Turn) -> None:
        talk.agent.abort()

    talk = Conversation(says(call("echo")), says("never"), **{name: callback})
    await talk.agent.prompt("go")
    assert talk.outline[-5:] == EMPTY_TURN_1
    check_context(talk.agent.messages)


async def test_an_abort_inside_the_transformation_of_the_context_sends_nothing() -> None:
    async def transform(messages: Any) -> Any:
        talk.agent.abort()
        return messages

    talk = Conversation(says("never"), transform_context=transform)
    await talk.agent.prompt("go")
    assert talk.model.requests == []
    assert talk.last.error_message == "This operation was aborted"


# -------------------------------------------------------------------------------------------------------- subscribers


def test_a_subscriber_that_hangs_has_two_seconds_after_an_abort_and_little_for_the_rest_of_the_run() -> None:
    async def scenario() -> None:
        talk = Conversation(says(call("echo")), says("never"))

        async def hang(event: Any) -> None:
            await asyncio.sleep(3600)

        heard: list[str] = []
        talk.agent.subscribe(hang)
        talk.agent.subscribe(lambda event: heard.append(event.type))
        took = await prompt_and_abort_after(talk, 1)
        assert 2 <= took <= 3
        assert heard == [event.type for event in talk.events]
        assert {text for _, text in talk.errors} == {"Cancelled: it was still busy 2 s after the run was aborted"}

    run_jumping(scenario())


def test_a_subscriber_that_listens_to_the_signal_itself_is_not_cut_short() -> None:
    async def scenario() -> None:
        talk = Conversation(says("Hi."))
        finished: list[str] = []

        async def slow(event: Any) -> None:
            if event.type == "agent_start":
                await sleep(3600, talk.agent.signal)
            await asyncio.sleep(1.5)
            finished.append(event.type)

        talk.agent.subscribe(slow)
        await prompt_and_abort_after(talk, 1)
        assert finished == [event.type for event in talk.events][1:]

    run_jumping(scenario())


# ------------------------------------------------------------------------------------------------------------- queues


async def test_an_abort_leaves_the_queues_as_they_are_and_the_next_prompt_delivers_them() -> None:
    talk = Conversation(says(call("echo")), says("1"), says("2"))

    async def queue(event: Any) -> None:
        if event.type == "tool_execution_start" and not talk.agent.steering:
            await talk.agent.steer("S")
            await talk.agent.follow_up("F")

    talk.agent.subscribe(queue)
    await prompt_and_abort(talk, is_("tool_execution_end"))
    assert "start user S" not in talk.lines
    assert (len(talk.agent.steering), len(talk.agent.follow_ups)) == (1, 1)
    await talk.agent.prompt("again")
    assert [line for line in talk.lines if line.startswith("start user")] == [
        "start user go",
        "start user again",
        "start user S",
        "start user F",
    ]
    check_context(talk.agent.messages)


@pytest.mark.parametrize("kind", ["steer", "follow_up"])
async def test_a_message_that_was_promised_to_the_run_stays_queued_if_the_abort_comes_before_it(kind: str) -> None:
    talk = Conversation(says("1"), says("2"))

    async def queue(event: Any) -> None:
        if event.type == "message_update" and not talk.agent.follow_ups and not talk.agent.steering:
            await getattr(talk.agent, kind)("later")

    talk.agent.subscribe(queue)
    await prompt_and_abort(talk, lambda event: event.type == "turn_start" and event.turn_index == 1)
    cleared = await talk.agent.clear_queue()
    assert [message.content[0].text for message in (*cleared.steering, *cleared.follow_up)] == ["later"]


# ------------------------------------------------------------------------------------------------- whence it may come


async def test_from_another_thread() -> None:
    talk = Conversation(hangs("one "))
    threading.Timer(0.05, talk.agent.abort).start()
    async with asyncio.timeout(60):
        await talk.agent.prompt("go")
    assert talk.last.stop_reason == "aborted"


async def test_by_a_signal_that_was_given_along() -> None:
    talk = Conversation(hangs("one "))
    controller = AbortController()
    asyncio.get_running_loop().call_later(0.02, controller.abort, "enough")
    await talk.agent.prompt("go", signal=controller.signal)
    assert talk.last.stop_reason == "aborted"
    assert controller.signal._listeners == {}


async def test_a_signal_that_was_set_before_the_run() -> None:
    controller = AbortController()
    controller.abort()
    talk = Conversation(says("never"))
    await talk.agent.prompt("go", signal=controller.signal)
    assert (talk.last.stop_reason, talk.model.requests) == ("aborted", [])


async def test_an_idle_agent_is_not_harmed_by_an_abort() -> None:
    talk = Conversation(says("Hi."))
    talk.agent.abort()
    await talk.agent.prompt("go")
    assert talk.last.stop_reason == "stop"


async def test_a_second_abort_changes_nothing() -> None:
    talk = Conversation(hangs("one "))

    def act(event: Any) -> None:
        if event.type == "message_update":
            talk.agent.abort()

    talk.agent.subscribe(act)
    await talk.agent.prompt("go")
    assert talk.lines.count("end assistant aborted") == 1
    check_events(talk.events)
