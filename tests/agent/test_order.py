"""The order of events, stated line by line (RPC specification, section 3)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

from piolet.agent.batch import Block, PendingCall
from piolet.agent.loop import AgentContext, NextTurn, Turn
from piolet.agent.tools import OnUpdate, ToolResult
from piolet.base.abort import AbortSignal
from piolet.llm.messages import AssistantMessage, UserMessage
from tests.agent.conversation import ECHO, Conversation, check_context, check_events, tool
from tests.support.scripted_model import MODEL, call, fails, says, thinking
from tests.support.virtual_time import jumping, now


def sleeper(**more: Any) -> Any:
    """A tool that sleeps for its `text` in seconds."""

    async def execute(id: str, arguments: dict[str, Any], signal: AbortSignal, on_update: OnUpdate) -> ToolResult:
        await asyncio.sleep(float(arguments["text"]))
        return ToolResult.of_text(f"slept {arguments['text']}")

    return tool("sleep", execute, **more)


async def test_a_plain_answer() -> None:
    talk = Conversation(says(thinking("Hm."), "Hello."))
    new = await talk.agent.prompt("Hi")
    assert talk.lines == [
        "agent_start",
        "turn_start 0",
        "start user Hi",
        "end user Hi",
        "start assistant pending",
        "update thinking_start",
        "update thinking_delta",
        "update thinking_end",
        "update text_start",
        "update text_delta",
        "update text_end",
        "end assistant stop",
        "turn_end 0",
        "agent_end",
    ]
    assert [message.role for message in new] == ["user", "assistant"]
    assert talk.agent.messages == new
    assert talk.last.text == "Hello."


async def test_an_answer_begins_empty_and_a_snapshot_shows_what_has_arrived() -> None:
    talk = Conversation(says("Hello."))
    seen: list[tuple[str, str]] = []

    def look(event: Any) -> None:
        if event.type in ("message_start", "message_update") and isinstance(event.message, AssistantMessage):
            seen.append((event.message.stop_reason, event.message.text))

    talk.agent.subscribe(look)
    await talk.agent.prompt("Hi")
    assert seen == [("pending", ""), ("pending", ""), ("pending", "Hello."), ("pending", "Hello.")]


async def test_a_tool_call() -> None:
    talk = Conversation(says("Let me see.", call("echo", text="x")), says("Done."))
    await talk.agent.prompt("go")
    assert talk.outline == [
        "agent_start",
        "turn_start 0",
        "start user go",
        "end user go",
        "start assistant pending",
        "end assistant toolUse",
        "run c1",
        "ran c1",
        "start result c1",
        "end result c1",
        "turn_end 0 (1 results)",
        "turn_start 1",
        "start assistant pending",
        "end assistant stop",
        "turn_end 1",
        "agent_end",
    ]
    assert talk.results() == ["x"]
    assert [message.role for message in talk.model.requests[1].context.messages] == ["user", "assistant", "toolResult"]


@jumping
async def test_parallel_calls_start_together_end_as_they_complete_and_are_answered_in_call_order() -> None:
    calls = call("sleep", "c1", text="0.5"), call("sleep", "c2", text="0.1"), call("sleep", "c3", text="0.3")
    talk = Conversation(says(*calls), says("Done."), tools=[sleeper()])
    await talk.agent.prompt("go")
    assert talk.outline[6:20] == [
        "run c1",
        "run c2",
        "run c3",
        "ran c2",
        "ran c3",
        "ran c1",
        "start result c1",
        "end result c1",
        "start result c2",
        "end result c2",
        "start result c3",
        "end result c3",
        "turn_end 0 (3 results)",
        "turn_start 1",
    ]
    assert talk.results() == ["slept 0.5", "slept 0.1", "slept 0.3"]


async def test_calls_that_end_at_the_same_moment_end_in_call_order() -> None:
    async def execute(id: str, arguments: dict[str, Any], signal: AbortSignal, on_update: OnUpdate) -> ToolResult:
        for _ in range(10 - int(id[1:])):
            await asyncio.sleep(0)  # the last call is the first to end, by a hair
        return ToolResult.of_text(id)

    calls = [call("t", f"c{number}") for number in range(1, 9)]
    talk = Conversation(says(*calls), says("Done."), tools=[tool("t", execute)])
    await talk.agent.prompt("go")
    assert [line for line in talk.outline if line.startswith("ran")] == [f"ran c{number}" for number in range(1, 9)]


@jumping
async def test_a_call_that_goes_on_does_not_hold_up_the_ends_of_the_others() -> None:
    calls = call("sleep", "c1", text="1"), call("sleep", "c2", text="0.3"), call("sleep", "c3", text="0.1")
    talk = Conversation(says(*calls), says("Done."), tools=[sleeper()])
    ends: list[tuple[str, float]] = []
    begin = now()

    def note(event: Any) -> None:
        if event.type == "tool_execution_end":
            ends.append((event.tool_call_id, now() - begin))

    talk.agent.subscribe(note)
    await talk.agent.prompt("go")
    assert [id for id, _ in ends] == ["c3", "c2", "c1"]
    assert ends[1][1] < 0.31


@pytest.mark.parametrize("way", ["config", "one tool of the batch"])
@jumping
async def test_sequential_calls_run_and_are_answered_one_after_another(way: str) -> None:
    calls = call("sleep", "c1", text="0.02"), call("echo", "c2", text="x")
    if way == "config":
        talk = Conversation(says(*calls), says("."), tools=[ECHO, sleeper()], tool_execution="sequential")
    else:
        talk = Conversation(says(*calls), says("."), tools=[ECHO, sleeper(execution_mode="sequential")])
    await talk.agent.prompt("go")
    assert talk.outline[6:10] == ["run c1", "ran c1", "start result c1", "end result c1"]
    assert talk.outline[10:15] == ["run c2", "ran c2", "start result c2", "end result c2", "turn_end 0 (2 results)"]


async def test_a_refused_call_ends_before_the_next_one_starts_and_the_others_still_run_together() -> None:
    calls = call("sleep", "c1", text="0.3"), call("nosuch", "c2"), call("sleep", "c3", text="0.1")
    talk = Conversation(says(*calls), says("."), tools=[sleeper()])
    await talk.agent.prompt("go")
    assert talk.outline[6:12] == ["run c1", "run c2", "ran c2 (error)", "run c3", "ran c3", "ran c1"]
    assert talk.results() == ["slept 0.3", "Tool nosuch not found", "slept 0.1"]


async def test_invalid_arguments_become_an_error_that_tells_the_model_what_to_fix() -> None:
    needs = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
    ran: list[str] = []

    async def execute(id: str, arguments: dict[str, Any], signal: AbortSignal, on_update: OnUpdate) -> ToolResult:
        ran.append(id)
        return ToolResult.of_text("")

    talk = Conversation(says(call("read", offset=1)), says("."), tools=[tool("read", execute, parameters=needs)])
    await talk.agent.prompt("go")
    assert talk.outline[6:9] == ["run c1", "ran c1 (error)", "start result c1"]
    assert talk.results() == [
        'Validation failed for tool "read":\n  - path: missing\n\nReceived arguments:\n{\n  "offset": 1\n}'
    ]
    assert ran == []


async def test_coerced_arguments_reach_the_tool_and_the_events_show_them_as_given() -> None:
    got: list[dict[str, Any]] = []

    async def execute(id: str, arguments: dict[str, Any], signal: AbortSignal, on_update: OnUpdate) -> ToolResult:
        got.append(arguments)
        arguments["text"] = "changed"
        return ToolResult.of_text("")

    talk = Conversation(says(call("echo", text=5)), says("."), tools=[tool("echo", execute)])
    await talk.agent.prompt("go")
    assert got == [{"text": "changed"}]
    started = next(event for event in talk.events if event.type == "tool_execution_start")
    assert started.args == {"text": 5}
    assert talk.agent.messages[1].tool_calls[0].arguments == {"text": 5}


async def test_a_blocked_call_does_not_run_and_the_model_gets_the_reason() -> None:
    async def guard(pending: PendingCall) -> Block | None:
        return Block("not in here") if pending.call.id == "c1" else None

    talk = Conversation(
        says(call("echo", "c1", text="x"), call("echo", "c2", text="y")), says("."), before_tool_call=guard
    )
    await talk.agent.prompt("go")
    assert talk.outline[6:10] == ["run c1", "ran c1 (error)", "run c2", "ran c2"]
    assert talk.results() == ["not in here", "y"]


@jumping
async def test_siblings_are_asked_about_one_after_another_before_any_of_them_runs() -> None:
    told: list[str] = []

    async def before(pending: PendingCall) -> None:
        told.append(f"ask {pending.call.id}")
        await asyncio.sleep(0.01)
        told.append(f"asked {pending.call.id}")

    async def execute(id: str, arguments: dict[str, Any], signal: AbortSignal, on_update: OnUpdate) -> ToolResult:
        told.append(f"run {id}")
        return ToolResult.of_text("")

    talk = Conversation(
        says(call("t", "c1"), call("t", "c2")), says("."), tools=[tool("t", execute)], before_tool_call=before
    )
    await talk.agent.prompt("go")
    assert told == ["ask c1", "asked c1", "ask c2", "asked c2", "run c1", "run c2"]


async def test_a_change_of_arguments_by_a_hook_is_coerced_and_an_invalid_one_blocks_the_call() -> None:
    async def before(pending: PendingCall) -> None:
        pending.arguments["text"] = 7 if pending.call.id == "c1" else ["no"]

    talk = Conversation(says(call("echo", "c1"), call("echo", "c2")), says("."), before_tool_call=before)
    await talk.agent.prompt("go")
    first, second = talk.results()
    assert first == "7"
    assert second.startswith('Validation failed for tool "echo":\n  - text: expected string, got array')


async def test_a_result_may_be_replaced_after_the_call() -> None:
    async def after(pending: PendingCall, result: ToolResult) -> ToolResult:
        return replace(result, content=ToolResult.of_text("hidden").content, is_error=True)

    talk = Conversation(says(call("echo", text="secret")), says("."), after_tool_call=after)
    await talk.agent.prompt("go")
    assert talk.results() == ["hidden"]
    assert "ran c1 (error)" in talk.lines


@pytest.mark.parametrize("both", [True, False])
async def test_a_run_ends_after_a_batch_only_if_every_result_asks_for_it(both: bool) -> None:
    async def execute(id: str, arguments: dict[str, Any], signal: AbortSignal, on_update: OnUpdate) -> ToolResult:
        return ToolResult.of_text("bye", terminate=both or id == "c1")

    talk = Conversation(says(call("t", "c1"), call("t", "c2")), says("More."), tools=[tool("t", execute)])
    await talk.agent.prompt("go")
    assert talk.outline[-1] == "agent_end"
    assert len(talk.model.requests) == (1 if both else 2)
    check_context(talk.agent.messages)


async def test_a_steering_message_comes_after_the_batch_and_before_the_next_request() -> None:
    talk = Conversation(says(call("sleep", text="0.03")), says("Turned."), tools=[sleeper()])

    async def steer(event: Any) -> None:
        if event.type == "tool_execution_start":
            await talk.agent.steer("turn left")

    talk.agent.subscribe(steer)
    await talk.agent.prompt("go")
    assert talk.outline[6:19] == [
        "run c1",
        "queue ['turn left'] []",
        "ran c1",
        "start result c1",
        "end result c1",
        "turn_end 0 (1 results)",
        "turn_start 1",
        "queue [] []",
        "start user turn left",
        "end user turn left",
        "start assistant pending",
        "end assistant stop",
        "turn_end 1",
    ]
    assert talk.lines.count("agent_end") == 1


async def test_a_steering_message_that_comes_during_the_last_answer_makes_another_turn() -> None:
    talk = Conversation(says("One."), says("Two."))

    async def steer(event: Any) -> None:
        if event.type == "message_update" and len(talk.model.requests) == 1 and not talk.agent.steering:
            await talk.agent.steer("more")

    talk.agent.subscribe(steer)
    await talk.agent.prompt("go")
    assert [line for line in talk.outline if line.startswith("end")] == [
        "end user go",
        "end assistant stop",
        "end user more",
        "end assistant stop",
    ]
    assert talk.lines.count("agent_end") == 1


async def queued_in_first_turn(talk: Conversation, put: Any, *texts: str) -> None:
    """Prompt, and queue `texts` while the first answer streams."""

    async def act(event: Any) -> None:
        if event.type == "message_start" and event.message.role == "assistant" and len(talk.model.requests) == 1:
            for text in texts:
                await put(text)

    talk.agent.subscribe(act)
    await talk.agent.prompt("go")


async def test_follow_ups_come_when_the_run_would_end_one_each_turn() -> None:
    talk = Conversation(says("one"), says("did A"), says("did B"))
    await queued_in_first_turn(talk, talk.agent.follow_up, "A", "B")
    assert talk.outline[4:] == [
        "start assistant pending",
        "queue [] ['A']",
        "queue [] ['A', 'B']",
        "end assistant stop",
        "turn_end 0",
        "turn_start 1",
        "queue [] ['B']",
        "start user A",
        "end user A",
        "start assistant pending",
        "end assistant stop",
        "turn_end 1",
        "turn_start 2",
        "queue [] []",
        "start user B",
        "end user B",
        "start assistant pending",
        "end assistant stop",
        "turn_end 2",
        "agent_end",
    ]


async def test_follow_ups_in_mode_all_come_in_one_turn() -> None:
    talk = Conversation(says("one"), says("did both"))
    talk.agent.follow_ups.mode = "all"
    await queued_in_first_turn(talk, talk.agent.follow_up, "A", "B")
    assert talk.outline[9:17] == [
        "turn_start 1",
        "queue [] ['B']",
        "start user A",
        "end user A",
        "queue [] []",
        "start user B",
        "end user B",
        "start assistant pending",
    ]


@pytest.mark.parametrize(("mode", "turns"), [("all", [["A", "B"]]), ("one-at-a-time", [["A"], ["B"]])])
async def test_steering_modes(mode: Any, turns: list[list[str]]) -> None:
    talk = Conversation(says(call("echo")), says("2"), says("3"))
    talk.agent.steering.mode = mode
    await queued_in_first_turn(talk, talk.agent.steer, "A", "B")
    outline = talk.outline
    found = []
    for line in outline[outline.index("turn_start 1") :]:
        if line.startswith("turn_start"):
            found.append([])
        elif line.startswith("start user"):
            found[-1].append(line.removeprefix("start user "))
    assert found == turns


async def test_steering_goes_before_follow_ups() -> None:
    talk = Conversation(says("1"), says("2"), says("3"))

    async def both(text: str) -> None:
        await talk.agent.follow_up(f"follow {text}")
        await talk.agent.steer(f"steer {text}")

    await queued_in_first_turn(talk, both, "x")
    assert [line for line in talk.outline if line.startswith("end user")] == [
        "end user go",
        "end user steer x",
        "end user follow x",
    ]


async def test_messages_queued_while_idle_join_the_next_prompt_steering_behind_it_follow_ups_after_its_answer() -> None:
    talk = Conversation(says("1"), says("2"))
    await talk.agent.steer("S")
    await talk.agent.follow_up("F")
    talk.agent.next_turn("N")
    await talk.agent.prompt("go")
    assert talk.outline[2:] == [
        "agent_start",
        "turn_start 0",
        "start user go",
        "end user go",
        "start user N",
        "end user N",
        "queue [] ['F']",
        "start user S",
        "end user S",
        "start assistant pending",
        "end assistant stop",
        "turn_end 0",
        "turn_start 1",
        "queue [] []",
        "start user F",
        "end user F",
        "start assistant pending",
        "end assistant stop",
        "turn_end 1",
        "agent_end",
    ]


async def test_a_next_turn_message_goes_with_one_prompt_only() -> None:
    talk = Conversation(says("1"), says("2"))
    talk.agent.next_turn("N")
    await talk.agent.prompt("go")
    await talk.agent.prompt("again")
    users = [m for m in talk.agent.messages if isinstance(m, UserMessage)]
    assert [m.content[0].text for m in users] == ["go", "N", "again"]


async def test_a_failure_before_the_first_chunk() -> None:
    talk = Conversation(fails('500: {"message":"boom"}'))
    await talk.agent.prompt("go")
    assert talk.lines[4:] == ["start assistant error", "end assistant error", "turn_end 0", "agent_end"]
    assert talk.last.error_message == '500: {"message":"boom"}'
    assert talk.last.content == ()


async def test_a_failure_in_the_middle_keeps_what_had_arrived() -> None:
    talk = Conversation(fails("reset", "par"))
    await talk.agent.prompt("go")
    assert talk.outline[4:] == ["start assistant pending", "end assistant error", "turn_end 0", "agent_end"]
    assert (talk.last.text, talk.last.error_message) == ("par", "reset")


async def test_calls_of_a_failed_answer_are_not_run() -> None:
    talk = Conversation(fails("reset", call("echo")))
    await talk.agent.prompt("go")
    assert not any(line.startswith("run") for line in talk.lines)
    check_context(talk.agent.messages)


async def test_an_answer_cut_off_by_length_ends_the_run() -> None:
    talk = Conversation(says("partial", stop="length"))
    await talk.agent.prompt("go")
    assert talk.outline[4:] == ["start assistant pending", "end assistant length", "turn_end 0", "agent_end"]


async def test_calls_of_an_answer_cut_off_by_length_are_refused_and_the_model_may_try_again() -> None:
    calls = call("echo", "c1"), call("echo", "c2")
    talk = Conversation(says(*calls, stop="length"), says("Shorter."))
    await talk.agent.prompt("go")
    assert talk.outline[6:10] == ["run c1", "ran c1 (error)", "start result c1", "end result c1"]
    assert talk.outline[10:14] == ["run c2", "ran c2 (error)", "start result c2", "end result c2"]
    assert all("output limit" in result for result in talk.results())
    assert talk.outline[-3:] == ["end assistant stop", "turn_end 1", "agent_end"]


async def test_a_turn_may_be_the_last_whatever_waits() -> None:
    async def stop(turn: Turn) -> bool:
        return turn.index == 0

    talk = Conversation(says(call("echo")), says("never"), should_stop_after_turn=stop)
    await queued_in_first_turn(talk, talk.agent.steer, "left")
    assert talk.outline[-2:] == ["turn_end 0 (1 results)", "agent_end"]
    assert len(talk.agent.steering) == 1
    check_context(talk.agent.messages)


async def test_the_next_turn_may_have_another_model_thinking_level_and_tools() -> None:
    other = replace_model("other")

    async def prepare(turn: Turn) -> NextTurn:
        return NextTurn(other, "high", replace(turn.context, tools=(), system_prompt="Be brief."))

    talk = Conversation(says(call("echo")), says("Done."), prepare_next_turn=prepare, system_prompt="Be kind.")
    await talk.agent.prompt("go")
    first, second = talk.model.requests
    assert (first.model.id, first.options.reasoning, len(first.context.tools)) == ("scripted-1", None, 1)
    assert (second.model.id, second.options.reasoning, second.context.tools) == ("other", "high", [])
    assert (first.context.system_prompt, second.context.system_prompt) == ("Be kind.", "Be brief.")


def replace_model(id: str) -> Any:
    from msgspec import structs

    return structs.replace(MODEL, id=id)


async def test_what_prepare_next_turn_gave_holds_for_all_following_turns() -> None:
    async def prepare(turn: Turn) -> NextTurn | None:
        return NextTurn(replace_model("other")) if turn.index == 0 else None

    talk = Conversation(says(call("echo")), says(call("echo")), says("Done."), prepare_next_turn=prepare)
    await talk.agent.prompt("go")
    assert [request.model.id for request in talk.model.requests] == ["scripted-1", "other", "other"]


async def test_the_whole_context_may_be_replaced_between_turns() -> None:
    summary = UserMessage("In short: …", 1)

    async def prepare(turn: Turn) -> NextTurn | None:
        kept = [summary, *turn.context.messages[-2:]]
        return NextTurn(context=AgentContext(kept, None, (ECHO,))) if turn.index == 0 else None

    talk = Conversation(says(call("echo")), says(call("echo")), says("Done."), prepare_next_turn=prepare)
    new = await talk.agent.prompt("a long story")
    assert [message.role for message in talk.model.requests[1].context.messages] == ["user", "assistant", "toolResult"]
    assert talk.model.requests[1].context.messages[0] is summary
    assert talk.agent.messages[0] is summary
    assert len(talk.agent.messages) == 6
    assert len(new) == 6
    check_context(talk.agent.messages)


async def test_changes_of_the_agent_during_a_run_are_used_from_the_next_turn_on() -> None:
    talk = Conversation(says(call("echo")), says("Done."))

    def change(event: Any) -> None:
        if event.type == "tool_execution_start":
            talk.agent.model = replace_model("other")
            talk.agent.thinking_level = "low"
            talk.agent.system_prompt = "New."
            talk.agent.tools = ()

    talk.agent.subscribe(change)
    await talk.agent.prompt("go")
    second = talk.model.requests[1]
    assert (second.model.id, second.options.reasoning) == ("other", "low")
    assert (second.context.system_prompt, second.context.tools) == ("New.", [])


async def test_context_may_be_transformed_for_a_request_alone() -> None:
    async def transform(messages: Any) -> Any:
        return [*messages, UserMessage("remember", 1)]

    talk = Conversation(says("Hi."), transform_context=transform)
    await talk.agent.prompt("go")
    assert len(talk.model.requests[0].context.messages) == 2
    assert len(talk.agent.messages) == 2


async def test_a_message_may_be_replaced_before_it_enters_the_context_but_not_by_another_role() -> None:
    async def finalize(message: Any) -> Any:
        if isinstance(message, AssistantMessage):
            return UserMessage("not an answer", 1)
        return UserMessage("GO", message.timestamp)

    talk = Conversation(says("Hi."), finalize_message=finalize)
    await talk.agent.prompt("go")
    assert talk.outline[2:6] == ["start user go", "end user GO", "start assistant pending", "end assistant stop"]
    assert talk.model.requests[0].context.messages[0].content == "GO"


async def test_the_key_is_asked_for_before_each_request() -> None:
    asked: list[str] = []

    async def key(provider: str) -> str:
        asked.append(provider)
        return f"key {len(asked)}"

    talk = Conversation(says(call("echo")), says("."), get_api_key=key)
    await talk.agent.prompt("go")
    assert asked == ["test", "test"]
    assert [request.options.api_key for request in talk.model.requests] == ["key 1", "key 2"]


async def test_continue_runs_without_a_new_message() -> None:
    talk = Conversation(fails("busy"), says("Here."))
    await talk.agent.prompt("go")
    talk.agent.replace_messages(talk.agent.messages[:-1])
    talk.events.clear()
    await talk.agent.continue_()
    assert talk.outline == [
        "agent_start",
        "turn_start 0",
        "start assistant pending",
        "end assistant stop",
        "turn_end 0",
        "agent_end",
    ]
    check_context(talk.agent.messages)


async def test_continue_after_an_answer_delivers_what_is_queued_before_it_asks_the_model() -> None:
    talk = Conversation(says("1"), says("2"), says("3"))
    await talk.agent.prompt("go")
    await talk.agent.follow_up("A")
    await talk.agent.follow_up("B")
    await talk.agent.continue_()
    assert [message.role for message in talk.agent.messages] == ["user", "assistant"] * 3
    check_context(talk.agent.messages)


async def test_every_request_ends_with_something_to_answer() -> None:
    talk = Conversation(says(call("echo")), says("1"), says("2"))
    await queued_in_first_turn(talk, talk.agent.follow_up, "A")
    for request in talk.model.requests:
        check_context(request.context.messages)
        assert request.context.messages[-1].role in ("user", "toolResult")
    check_events(talk.events)


async def test_an_identical_call_object_twice_in_an_answer_is_answered_twice() -> None:
    one = call("echo", text="x")
    talk = Conversation(says(one, one), says("Done."))
    async with asyncio.timeout(60):
        await talk.agent.prompt("go")
    assert talk.results() == ["x", "x"]
