"""One run at a time in a task of its own: busy agents, queues handed back, callers that are cancelled."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from piolet.agent.agent import Agent, NothingToContinue
from piolet.agent.running import Busy
from piolet.agent.tools import OnUpdate, ToolResult
from piolet.base.abort import AbortSignal
from piolet.llm.messages import ImageContent, TextContent, UserMessage
from tests.agent.conversation import Conversation, check_context, check_events, tool
from tests.support.scripted_model import call, fails, hangs, says
from tests.support.timing import until
from tests.support.virtual_time import jumping, now


async def settled(agent: Agent) -> None:
    async with asyncio.timeout(30):
        await agent.wait_idle()
    assert not agent.is_running


# --------------------------------------------------------------------------------------------------- one at a time


@pytest.mark.parametrize("what", ["prompt", "continue_"])
async def test_a_second_run_on_a_busy_agent_is_an_error_and_takes_nothing(what: str) -> None:
    talk = Conversation(hangs("one"), says("two"))
    run = asyncio.create_task(talk.agent.prompt("go"))
    await until(lambda: talk.model.requests)
    talk.agent.next_turn("N")
    with pytest.raises(Busy, match="Cannot start a run while a run is under way"):
        await (talk.agent.prompt("again") if what == "prompt" else talk.agent.continue_())
    talk.agent.abort()
    await run
    await talk.agent.prompt("third")
    assert [line for line in talk.lines if line.startswith("end user")] == [
        "end user go",
        "end user third",
        "end user N",
    ]


async def test_an_agent_is_running_from_the_call_to_the_end_of_its_last_event() -> None:
    talk = Conversation(says("Hi."))
    seen: list[bool] = []
    talk.agent.subscribe(lambda event: seen.append(talk.agent.is_running))
    assert not talk.agent.is_running
    await talk.agent.prompt("go")
    assert all(seen)
    assert not talk.agent.is_running
    assert talk.agent.signal is None


async def test_a_run_may_start_as_soon_as_the_one_before_has_returned() -> None:
    talk = Conversation(last := says("Hi."), last, last)
    for _ in range(3):
        await talk.agent.prompt("go")
    assert len(talk.agent.messages) == 6


async def test_an_agent_may_be_used_in_one_event_loop_after_another() -> None:
    talk = Conversation(hangs("one"), says("two"))

    async def leave() -> None:
        run = asyncio.create_task(talk.agent.prompt("go"))
        await asyncio.sleep(0.01)
        del run  # the loop ends with the run under way, and cancels it

    await asyncio.to_thread(asyncio.run, leave())
    assert not talk.agent.is_running
    await asyncio.to_thread(asyncio.run, talk.agent.prompt("again"))
    assert talk.last.text == "two"


async def test_nothing_to_continue() -> None:
    talk = Conversation(says("Hi."))
    with pytest.raises(NothingToContinue):
        await talk.agent.continue_()
    await talk.agent.prompt("go")
    with pytest.raises(NothingToContinue):
        await talk.agent.continue_()


async def test_a_prompt_may_have_images_or_be_messages() -> None:
    talk = Conversation(says("1"), says("2"))
    picture = ImageContent("AAAA", "image/png")
    await talk.agent.prompt("look", [picture])
    first = talk.agent.messages[0]
    assert isinstance(first, UserMessage)
    assert list(first.content) == [TextContent("look"), picture]
    await talk.agent.prompt([UserMessage("a", 1), UserMessage("b", 2)])
    assert [message.role for message in talk.agent.messages] == ["user", "assistant", "user", "user", "assistant"]


async def test_messages_are_handed_out_as_a_copy() -> None:
    talk = Conversation(says("Hi."))
    await talk.agent.prompt("go")
    talk.agent.messages.clear()
    assert len(talk.agent.messages) == 2


# -------------------------------------------------------------------------------------------------------------- queues


async def test_clearing_the_queues_hands_back_what_was_in_them() -> None:
    talk = Conversation(says("Hi."))
    await talk.agent.steer("S")
    await talk.agent.follow_up("F1")
    await talk.agent.follow_up("F2")
    talk.agent.next_turn("N")
    cleared = await talk.agent.clear_queue()
    texts = [[m.content[0].text for m in part] for part in (cleared.steering, cleared.follow_up, cleared.next_turn)]  # type: ignore[attr-defined]
    assert texts == [["S"], ["F1", "F2"], ["N"]]
    assert talk.lines[-1] == "queue [] []"
    await talk.agent.prompt("go")
    assert [message.role for message in talk.agent.messages] == ["user", "assistant"]


async def test_clearing_empty_queues_tells_nothing() -> None:
    talk = Conversation()
    await talk.agent.clear_queue()
    assert talk.lines == []


@pytest.mark.parametrize("event_type", ["turn_end", "turn_start"])
async def test_a_message_is_either_delivered_or_handed_back_never_both(event_type: str) -> None:
    talk = Conversation(says("1"), says("2"), says("3"))
    handed_back: list[Any] = []

    async def act(event: Any) -> None:
        if event.type == "message_update" and len(talk.model.requests) == 1 and not talk.agent.follow_ups:
            await talk.agent.follow_up("A")
            await talk.agent.follow_up("B")
        if event.type == event_type and (event.turn_index == 1 or event_type == "turn_end"):
            handed_back.extend((await talk.agent.clear_queue()).follow_up)

    talk.agent.subscribe(act)
    await talk.agent.prompt("go")
    delivered = [m.content[0].text for m in talk.agent.messages[2:] if isinstance(m, UserMessage)]
    returned = [m.content[0].text for m in handed_back]
    assert sorted(delivered + returned) == ["A", "B"]
    assert delivered == ([] if event_type == "turn_end" else ["A"])
    assert not talk.agent.follow_ups


# --------------------------------------------------------------------------------------------------- cancelled callers


def stubborn_tool() -> Any:
    async def execute(id: str, arguments: dict[str, Any], signal: AbortSignal, on_update: OnUpdate) -> ToolResult:
        await signal.wait()
        await asyncio.sleep(0.3)  # it takes its time to end in order
        return ToolResult.of_text("ended in order", is_error=True)

    return tool("slow", execute)


@pytest.mark.parametrize("busy_with", ["a request", "a stream", "a tool"])
@jumping
async def test_a_caller_with_a_deadline_is_back_in_time_and_the_run_settles_by_itself(busy_with: str) -> None:
    first = {"a request": says("late", delay=60), "a stream": hangs("one"), "a tool": says(call("slow"))}[busy_with]
    talk = Conversation(first, says("next"), tools=[stubborn_tool()])
    before = asyncio.all_tasks()
    begin = now()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1):
            await talk.agent.prompt("go")
    assert now() - begin < 0.15
    await settled(talk.agent)
    assert talk.lines[-1] == "agent_end"
    assert talk.last.stop_reason == "aborted"
    check_events(talk.events)
    check_context(talk.agent.messages)
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == before
    await talk.agent.prompt("again")
    assert talk.last.text == "next"


@jumping
async def test_a_caller_in_a_task_group_that_fails_is_gone_at_once_and_the_run_settles_by_itself() -> None:
    talk = Conversation(says(call("slow")), tools=[stubborn_tool()])
    before = asyncio.all_tasks()

    async def fail() -> None:
        await asyncio.sleep(0.05)
        raise ValueError("sibling")

    async def both() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(talk.agent.prompt("go"))
            group.create_task(fail())

    begin = now()
    with pytest.raises(ExceptionGroup):
        await both()
    assert now() - begin < 0.15
    assert talk.agent.is_running
    await settled(talk.agent)
    assert talk.results() == ["ended in order"]
    check_events(talk.events)
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == before


async def test_a_caller_that_is_cancelled_with_the_run_just_started() -> None:
    talk = Conversation(says("never"))
    run = asyncio.create_task(talk.agent.prompt("go"))
    await asyncio.sleep(0)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    await settled(talk.agent)
    check_events(talk.events)
    assert talk.lines[-1] == "agent_end"


@jumping
async def test_waiting_for_an_idle_agent_may_be_cancelled_without_harm_to_the_run() -> None:
    talk = Conversation(says("Hi.", delay=0.1))
    run = asyncio.create_task(talk.agent.prompt("go"))
    await asyncio.sleep(0)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.02):
            await talk.agent.wait_idle()
    await run
    assert talk.last.text == "Hi."


async def test_a_web_endpoint_is_cancelled_when_its_client_leaves_and_the_run_settles_by_itself() -> None:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import StreamingResponse
    from starlette.routing import Route

    talk = Conversation(says(call("slow")), tools=[stubborn_tool()])
    started = asyncio.Event()
    talk.agent.subscribe(lambda event: started.set() if event.type == "tool_execution_start" else None)

    async def endpoint(request: Request) -> StreamingResponse:
        async def body() -> Any:
            yield "begin\n"
            await talk.agent.prompt("go")
            yield "end\n"

        return StreamingResponse(body())

    app = Starlette(routes=[Route("/", endpoint)])
    before = asyncio.all_tasks()
    async with serving(app) as port:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        await started.wait()
        writer.close()
        await writer.wait_closed()
        await until(lambda: not talk.agent.is_running)
    assert talk.results() == ["ended in order"]
    assert talk.last.stop_reason == "aborted"
    check_events(talk.events)
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == before


def serving(app: Any) -> Any:
    """A uvicorn server on a free port of this host."""
    import contextlib

    import uvicorn

    @contextlib.asynccontextmanager
    async def run() -> Any:
        server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error", lifespan="off", ws="none"))
        server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
        task = asyncio.create_task(server._serve())
        while not server.started:
            await asyncio.sleep(0.01)
        yield server.servers[0].sockets[0].getsockname()[1]
        server.should_exit = True
        await task

    return run()


# ------------------------------------------------------------------------------------------------ waiting for oneself


@pytest.mark.parametrize("where", ["subscriber", "tool", "callback"])
@pytest.mark.parametrize("what", ["wait_idle", "prompt", "continue_"])
async def test_waiting_for_ones_own_run_is_an_error(where: str, what: str) -> None:
    errors: list[Exception] = []

    async def wait(*args: Any) -> Any:
        if errors:
            return None
        try:
            await (talk.agent.prompt("x") if what == "prompt" else getattr(talk.agent, what)())
        except Busy as error:
            errors.append(error)
        return ToolResult.of_text("") if where == "tool" else None

    config = {"prepare_next_turn": wait} if where == "callback" else {}
    talk = Conversation(says(call("t")), says("Done."), tools=[tool("t", wait)], **config)
    if where == "tool":
        pass
    elif where == "subscriber":
        talk.agent.subscribe(wait)
    async with asyncio.timeout(60):
        await talk.agent.prompt("go")
    assert len(errors) == 1
    assert "wait" in str(errors[0]) or "Cannot start a run" in str(errors[0])


async def test_another_agent_may_be_run_and_waited_for_inside_of_a_tool() -> None:
    inner = Conversation(says("deep"))

    async def ask(*args: Any) -> ToolResult:
        await inner.agent.prompt("inner")
        await inner.agent.wait_idle()
        return ToolResult.of_text(inner.last.text)

    talk = Conversation(says(call("ask")), says("Done."), tools=[tool("ask", ask)])
    await talk.agent.prompt("go")
    assert talk.results() == ["deep"]


async def test_an_abort_of_the_outer_run_reaches_the_inner_one_through_its_signal() -> None:
    inner = Conversation(hangs("deep"))

    async def ask(id: str, arguments: dict[str, Any], signal: AbortSignal, on_update: OnUpdate) -> ToolResult:
        await inner.agent.prompt("inner", signal=signal)
        return ToolResult.of_text(inner.last.stop_reason)

    talk = Conversation(says(call("ask")), says("never"), tools=[tool("ask", ask)])
    run = asyncio.create_task(talk.agent.prompt("go"))
    while not inner.model.requests:
        await asyncio.sleep(0.01)
    talk.agent.abort()
    await run
    assert talk.results() == ["aborted"]


async def test_the_failure_of_a_run_is_no_exception() -> None:
    talk = Conversation(fails("401: no key"))
    new = await talk.agent.prompt("go")
    assert new[-1].error_message == "401: no key"  # type: ignore[attr-defined]
