"""What raises, lies or is cancelled inside: callbacks, tools, subscribers, streams. The order of events stays whole."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from piolet.agent.agent import Agent
from piolet.agent.loop import AgentContext, LoopConfig, run_loop
from piolet.agent.tools import OnUpdate, ToolResult
from piolet.base.abort import AbortSignal
from piolet.llm.messages import AssistantMessage, TextContent, UserMessage
from tests.agent.conversation import ECHO, Conversation, as_they_are, check_context, check_events, tool
from tests.support.scripted_model import MODEL, Reply, ScriptedModel, call, fails, says


async def broken(*args: Any) -> Any:
    raise RuntimeError("kaputt")


async def cancelled_inside(*args: Any) -> Any:
    """Waits for something that somebody cancels."""
    task = asyncio.create_task(asyncio.sleep(60))
    asyncio.get_running_loop().call_soon(task.cancel)
    await task


def not_async(*args: Any) -> Any:
    return None


WAYS = {"raises": broken, "cancelled inside": cancelled_inside, "not async": not_async}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "name",
    [
        "transform_context",
        "get_api_key",
        "finalize_message",
        "prepare_next_turn",
        "should_stop_after_turn",
        "get_steering_messages",
        "get_follow_up_messages",
    ],
)
async def test_a_callback_that_fails_ends_the_run_with_an_error_message(name: str, way: str) -> None:
    talk = Conversation(says(call("echo")), says("Done."), **{name: WAYS[way]})
    await talk.agent.prompt("go")
    check_events(talk.events)
    check_context(talk.agent.messages)
    assert talk.last.stop_reason == "error"
    assert talk.last.content == []
    assert talk.last.error_message
    if way == "raises":
        assert talk.last.error_message == "kaputt"
    assert talk.outline[-4:-2] == ["start assistant error", "end assistant error"]
    assert talk.lines[-1] == "agent_end"
    assert not talk.agent.is_running


async def test_a_conversion_that_raises_ends_the_run_with_an_error_message() -> None:
    def convert(messages: Any) -> Any:
        raise ValueError("no form for this")

    talk = Conversation(says("never"), convert_to_llm=convert)
    await talk.agent.prompt("go")
    assert talk.last.error_message == "no form for this"
    assert talk.model.requests == []
    check_events(talk.events)


@pytest.mark.parametrize("way", WAYS)
async def test_a_hook_before_a_call_that_fails_blocks_it(way: str) -> None:
    ran: list[str] = []

    async def execute(id: str, arguments: dict[str, Any], signal: AbortSignal, on_update: OnUpdate) -> ToolResult:
        ran.append(id)
        return ToolResult.of_text("")

    talk = Conversation(says(call("t", "c1")), says("Done."), tools=[tool("t", execute)], before_tool_call=WAYS[way])
    await talk.agent.prompt("go")
    assert talk.results()[0].startswith("Tool call blocked: ")
    assert ran == []
    assert talk.last.stop_reason == "stop"
    check_events(talk.events)


@pytest.mark.parametrize("way", WAYS)
async def test_a_hook_after_a_call_that_fails_withholds_the_result(way: str) -> None:
    talk = Conversation(says(call("echo", text="secret")), says("Done."), after_tool_call=WAYS[way])
    await talk.agent.prompt("go")
    assert "secret" not in talk.results()[0]
    assert "ran c1 (error)" in talk.lines
    assert talk.last.stop_reason == "stop"
    check_events(talk.events)


# -------------------------------------------------------------------------------------------------------------- tools


async def result_of(execute: Any, **more: Any) -> str:
    talk = Conversation(says(call("t"), call("echo", "c2")), says("Done."), tools=[tool("t", execute, **more), ECHO])
    await talk.agent.prompt("go")
    check_events(talk.events)
    check_context(talk.agent.messages)
    assert talk.last.stop_reason == "stop"
    assert "ran c1 (error)" in talk.lines
    first, second = talk.results()
    assert second == "ok"
    return first


async def test_a_tool_that_raises_gives_an_error_result_with_its_text() -> None:
    assert await result_of(broken) == "kaputt"


async def test_a_tool_that_raises_without_a_text_gives_the_name_of_the_error() -> None:
    async def execute(*args: Any) -> ToolResult:
        raise KeyError

    assert await result_of(execute) == "KeyError"


async def test_a_tool_that_is_cancelled_inside_gives_an_error_result() -> None:
    assert await result_of(cancelled_inside) == "Something that it waited for was cancelled"


async def test_a_tool_that_cancels_itself_gives_an_error_result() -> None:
    async def execute(*args: Any) -> ToolResult:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(1)
        return ToolResult.of_text("never")

    assert "cancelled" in await result_of(execute)


async def test_a_tool_that_is_no_coroutine_function_gives_an_error_result() -> None:
    assert await result_of(lambda *args: ToolResult.of_text("x"))


@pytest.mark.parametrize(
    "wrong", [None, "text", {"content": []}, ToolResult("text"), ToolResult(None), ToolResult([1])]
)  # type: ignore[arg-type,list-item]
async def test_a_tool_that_returns_no_result_gives_an_error_result(wrong: Any) -> None:
    async def execute(*args: Any) -> Any:
        return wrong

    assert await result_of(execute)


async def test_an_argument_preparation_that_raises_gives_an_error_result() -> None:
    def prepare(arguments: Any) -> Any:
        raise ValueError("cannot repair")

    assert await result_of(ECHO.execute, prepare_arguments=prepare) == "cannot repair"


# -------------------------------------------------------------------------------------------------------- subscribers


@pytest.mark.parametrize("way", ["raises", "cancelled inside"])
async def test_a_subscriber_that_fails_is_reported_and_the_others_hear_everything(way: str) -> None:
    talk = Conversation(says(call("echo")), says("Done."))
    heard: list[str] = []
    talk.agent.subscribe(WAYS[way])
    talk.agent.subscribe(lambda event: heard.append(event.type))
    await talk.agent.prompt("go")
    assert heard == [event.type for event in talk.events] == [name for name, _ in talk.errors]
    assert talk.last.text == "Done."


async def test_a_sync_subscriber_that_raises_is_reported_to_the_event_loop_by_default() -> None:
    reports: list[str] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, report: reports.append(report["message"]))
    agent = Agent(LoopConfig(model=MODEL, stream=ScriptedModel(says("Hi.")), convert_to_llm=as_they_are))
    agent.subscribe(lambda event: {}[event.type])
    await agent.prompt("go")
    assert reports[0] == "A subscriber failed at agent_start: 'agent_start'"
    assert agent.messages[-1].role == "assistant"


async def test_an_error_report_that_raises_harms_nobody() -> None:
    talk = Conversation(says("Hi."), on_error=lambda event, error: 1 / 0)
    talk.agent.subscribe(broken)
    await talk.agent.prompt("go")
    check_events(talk.events)
    assert talk.last.text == "Hi."


async def test_a_subscriber_may_leave_and_others_may_join_in_the_middle() -> None:
    talk = Conversation(says("Hi."))
    heard: list[str] = []

    def once(event: Any) -> None:
        heard.append(f"once {event.type}")
        leave()
        talk.agent.subscribe(lambda event: heard.append(event.type))

    leave = talk.agent.subscribe(once)
    await talk.agent.prompt("go")
    leave()
    assert heard[:3] == ["once agent_start", "turn_start", "message_start"]


# ------------------------------------------------------------------------------------------------------------ streams


async def test_a_stream_that_raises_gives_an_error_message_with_what_had_arrived() -> None:
    talk = Conversation(Reply([TextContent("par")], crash=ZeroDivisionError("oops")))
    await talk.agent.prompt("go")
    assert (talk.last.stop_reason, talk.last.text, talk.last.error_message) == ("error", "par", "oops")
    check_events(talk.events)


async def test_a_stream_function_that_raises_gives_an_error_message() -> None:
    talk = Conversation(Reply(crash_at_once=LookupError("no such protocol")))
    await talk.agent.prompt("go")
    assert talk.lines[4:] == ["start assistant error", "end assistant error", "turn_end 0", "agent_end"]
    assert talk.last.error_message == "no such protocol"


async def test_a_stream_whose_inner_work_is_cancelled_gives_an_error_message() -> None:
    talk = Conversation(Reply([TextContent("par")], crash=asyncio.CancelledError()))
    await talk.agent.prompt("go")
    assert (talk.last.stop_reason, talk.last.text) == ("error", "par")
    check_events(talk.events)


async def test_every_stream_is_closed_when_its_answer_is_in_the_context() -> None:
    closed: list[bool] = []
    model = ScriptedModel(says(call("echo")), fails("boom", "par"))

    def stream(*args: Any) -> Any:
        stream = model(*args)
        inner = stream._events
        talk.agent.subscribe(lambda event: closed.append(inner.ag_frame is None) if event.type == "turn_end" else None)
        return stream

    talk = Conversation(model)
    talk.agent.config = LoopConfig(model=MODEL, stream=stream, convert_to_llm=as_they_are)
    await talk.agent.prompt("go")
    assert closed == [True, True, True]


# ----------------------------------------------------------------------------------------------------------- run_loop


@pytest.mark.parametrize(
    "at", ["agent_start", "message_update", "message_end", "tool_execution_start", "tool_execution_end", "agent_end"]
)
async def test_what_emit_raises_comes_out_of_run_loop_and_no_task_is_left(at: str) -> None:
    told: list[str] = []

    async def emit(event: Any) -> None:
        told.append(event.type)
        if event.type == at:
            raise OSError("disk full")

    async def execute(*args: Any) -> ToolResult:
        await asyncio.sleep(60)
        return ToolResult.of_text("never")

    config = LoopConfig(
        model=MODEL, stream=ScriptedModel(says(call("echo", "c1"), call("slow", "c2"))), convert_to_llm=as_they_are
    )
    before = asyncio.all_tasks()
    tools = (ECHO, tool("slow", execute)) if at == "tool_execution_end" else (ECHO,)
    with pytest.raises(OSError, match="disk full"):
        await run_loop([UserMessage("go", 1)], AgentContext([], tools=tools), config, emit)
    assert told[-1] == at
    assert asyncio.all_tasks() == before


async def test_run_loop_leaves_the_given_context_as_it_is() -> None:
    messages = [UserMessage("a", 1), AssistantMessage([], "", "", "", MODEL.cost, "stop", 1)]  # type: ignore[arg-type]

    async def emit(event: Any) -> None:
        pass

    config = LoopConfig(model=MODEL, stream=ScriptedModel(says("Hi.")), convert_to_llm=as_they_are)
    new = await run_loop([UserMessage("b", 1)], AgentContext(messages), config, emit)
    assert len(messages) == 2
    assert [message.role for message in new] == ["user", "assistant"]
