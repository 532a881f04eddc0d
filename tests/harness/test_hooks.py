"""Hooks: who is asked in which order, what becomes of an answer, and what of one that raises or hangs."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from typing import Any

import pytest
from msgspec import Struct
from msgspec.structs import replace

from piolet.agent.tools import OnUpdate, ToolResult
from piolet.base.abort import AbortController, AbortSignal
from piolet.harness.environments.local import LocalEnvironment
from piolet.harness.harness import AgentHarness
from piolet.harness.hook_points import (
    AFTER_PROVIDER_RESPONSE,
    BEFORE_AGENT_START,
    BEFORE_PROVIDER_HEADERS,
    BEFORE_PROVIDER_REQUEST,
    CONTEXT,
    MESSAGE_END,
    PROVIDER_STREAM_EVENT,
    TOOL_CALL,
    TOOL_RESULT,
    TURN_END,
    BeforeAgentStart,
    BeforeProviderHeaders,
    BeforeProviderRequest,
    Boundary,
    ContextEvent,
    ContextResult,
    MessageEndEvent,
    MessageResult,
    ToolCallEvent,
    ToolCallResult,
    ToolResultEvent,
    ToolResultPatch,
    TurnEndEvent,
)
from piolet.harness.hooks import Hook, HookFailure, Hooks
from piolet.harness.messages import CustomMessage
from piolet.harness.session.session import Session
from piolet.llm.messages import AssistantMessage, ImageContent, TextContent, UserMessage, text, text_of
from piolet.llm.model import Model, StreamOptions
from piolet.llm.models import Models
from tests.agent.conversation import tool
from tests.harness.talk import Harness
from tests.support import replies
from tests.support.run import Place
from tests.support.scripted_model import call, says
from tests.support.server import ScriptedServer
from tests.support.virtual_time import now, run_jumping


class Word(Struct, frozen=True):
    text: str = ""
    box: Sequence[str] = ()


WORD: Hook[Word, str] = Hook("word", fold=lambda event, more: replace(event, text=event.text + more))
BOX: Hook[Word, str] = Hook(
    "box",
    fold=lambda event, more: replace(event, text=event.text + more),
    copy=lambda event: replace(event, box=list(event.box)),
)
GATE: Hook[Word, str] = Hook("gate", fold=lambda event, more: Word(more), done=lambda event: event.text == "stop")
GUARD: Hook[Word, str] = Hook("guard", failed=lambda event, error: Word(f"refused: {error}"))


# ---- the registry


async def test_each_handler_sees_what_the_one_before_changed() -> None:
    hooks = Hooks()
    seen: list[str] = []
    for more in "abc":
        hooks.on(WORD, lambda event, more=more: seen.append(event.text) or more)  # type: ignore[misc]
    assert (await hooks.run(WORD, Word())).text == "abc"
    assert seen == ["", "a", "ab"]


async def test_a_handler_is_awaited_before_the_next_is_asked() -> None:
    hooks = Hooks()
    order: list[str] = []

    async def slow(event: Word) -> None:
        await asyncio.sleep(0.01)
        order.append("slow")

    hooks.on(WORD, slow)
    hooks.on(WORD, lambda event: order.append("quick"))
    await hooks.run(WORD, Word())
    assert order == ["slow", "quick"]


async def test_nobody_is_asked_after_an_answer_that_decides() -> None:
    hooks = Hooks()
    hooks.on(GATE, lambda event: None)
    hooks.on(GATE, lambda event: "stop")
    hooks.on(GATE, lambda event: "go on")
    assert (await hooks.run(GATE, Word())).text == "stop"


async def test_the_list_of_handlers_is_fixed_when_the_event_starts() -> None:
    hooks = Hooks()
    asked: list[str] = []

    def first(event: Word) -> None:
        asked.append("first")
        remove_second()
        hooks.on(WORD, lambda event: asked.append("third"))

    hooks.on(WORD, first)
    remove_second = hooks.on(WORD, lambda event: asked.append("second"))
    await hooks.run(WORD, Word())
    assert asked == ["first", "second"]
    asked.clear()
    await hooks.run(WORD, Word())
    assert asked == ["first", "third"]


async def test_handlers_are_dropped_by_their_owner() -> None:
    hooks = Hooks()
    one, two = object(), object()
    hooks.on(WORD, lambda event: "a", owner=one)
    hooks.on("word", lambda event: "b", owner=two)
    hooks.drop(one)
    assert (await hooks.run(WORD, Word())).text == "b"
    hooks.drop(two)
    assert not hooks.wanted(WORD)


async def test_a_handler_that_raises_is_reported_with_its_owner_and_the_next_is_asked() -> None:
    failures: list[HookFailure] = []
    hooks = Hooks(failures.append)

    def broken(event: Word) -> str:
        raise ValueError("no")

    hooks.on(WORD, broken, owner="me")
    hooks.on(WORD, lambda event: "b")
    assert (await hooks.run(WORD, Word("a"))).text == "ab"
    [failure] = failures
    assert (failure.hook, failure.owner, failure.event) == ("word", "me", Word("a"))
    assert "ValueError: no" in failure.stack


async def test_an_answer_that_does_not_fit_is_reported_like_a_raise() -> None:
    failures: list[HookFailure] = []
    hooks = Hooks(failures.append)
    hooks.on(WORD, lambda event: 7)  # type: ignore[arg-type, return-value]
    assert await hooks.run(WORD, Word("a")) == Word("a")
    assert isinstance(failures[0].error, TypeError)


async def test_an_event_that_cannot_be_copied_is_reported_and_nothing_more_happens() -> None:
    failures: list[HookFailure] = []
    hooks = Hooks(failures.append)
    hooks.on(CONTEXT, lambda event: None)
    event = ContextEvent([CustomMessage("note", "x", True, 0, threading.Lock())])
    assert await hooks.run(CONTEXT, event) is event
    assert len(failures) == 1


async def test_what_is_left_in_a_copy_counts_only_if_the_handler_returns() -> None:
    failures: list[HookFailure] = []
    hooks = Hooks(failures.append)

    def fill(event: Word) -> None:
        event.box.append("kept")  # type: ignore[attr-defined]

    def spill(event: Word) -> None:
        event.box.append("spilt")  # type: ignore[attr-defined]
        raise ValueError("no")

    hooks.on(BOX, fill)
    hooks.on(BOX, spill)
    original = Word("", ["there"])
    assert (await hooks.run(BOX, original)).box == ["there", "kept"]
    assert original.box == ["there"]


async def test_whoever_is_told_of_failures_may_fail_too() -> None:
    def broken(event: Any) -> None:
        raise ValueError("no")

    hooks = Hooks(broken)
    hooks.on(WORD, broken)
    hooks.on(WORD, lambda event: "b")
    assert (await hooks.run(WORD, Word())).text == "b"


async def test_a_guard_that_raises_refuses() -> None:
    hooks = Hooks()

    def broken(event: Word) -> None:
        raise ValueError("no")

    hooks.on(GUARD, broken)
    assert (await hooks.run(GUARD, Word())).text == "refused: no"


async def test_a_handler_that_awaits_something_cancelled_tears_nothing() -> None:
    failures: list[HookFailure] = []
    hooks = Hooks(failures.append)

    async def broken(event: Word) -> None:
        task = asyncio.create_task(asyncio.sleep(60))
        task.cancel()
        await task

    hooks.on(WORD, broken)
    hooks.on(WORD, lambda event: "b")
    assert (await hooks.run(WORD, Word())).text == "b"
    assert len(failures) == 1


def test_after_an_abort_a_handler_has_two_seconds_and_the_next_is_asked() -> None:
    async def scenario() -> None:
        controller = AbortController()
        failures: list[HookFailure] = []
        hooks = Hooks(failures.append)

        async def hang(event: Word) -> None:
            await asyncio.sleep(3600)

        hooks.on(WORD, hang, owner="me")
        hooks.on(WORD, lambda event: "b")
        asyncio.get_running_loop().call_later(5, controller.abort)
        assert (await hooks.run(WORD, Word(), controller.signal)).text == "b"
        assert now() == 5 + 2
        assert [(failure.owner, type(failure.error)) for failure in failures] == [("me", TimeoutError)]

    run_jumping(scenario())


async def test_a_slow_handler_is_told_of_and_its_answer_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    failures: list[HookFailure] = []
    hooks = Hooks(failures.append)
    monkeypatch.setattr("piolet.harness.hooks.SLOW", 0.01)

    async def slow(event: Word) -> str:
        await asyncio.sleep(0.02)
        return "late"

    hooks.on(WORD, slow)
    assert (await hooks.run(WORD, Word())).text == "late"
    assert [(failure.error, failure.seconds >= 0.01) for failure in failures] == [(None, True)]


# ---- events


async def test_handlers_of_an_event_hear_it_after_it_is_stored_and_before_the_listeners() -> None:
    talk = Harness(says("one"))
    order: list[str] = []
    talk.harness.hooks.on("message_start", lambda event: order.append("handler"))
    talk.harness.subscribe(lambda event: order.append("listener") if event.type == "message_start" else None)
    stored: list[int] = []
    talk.harness.subscribe(
        lambda event: stored.append(len(talk.harness.session.heads)) if event.type == "message_end" else None
    )
    await talk.harness.prompt("go")
    assert order == ["handler", "listener"] * 2
    assert stored == [1, 2]


async def test_the_answer_of_an_events_handler_changes_nothing() -> None:
    talk = Harness(says("one"))
    talk.harness.hooks.on("agent_end", lambda event: Boundary(continue_=True))
    talk.harness.hooks.on("message_start", lambda event: MessageResult(UserMessage("other", 0)))
    await talk.harness.prompt("go")
    assert talk.stored() == ["user: go", "assistant: one"]
    assert talk.failures == []


async def test_a_listener_that_raises_is_reported_and_the_others_hear_everything() -> None:
    talk = Harness(says("one"))

    def broken(event: Any) -> None:
        raise ValueError("no")

    talk.harness.subscribe(broken)
    heard: list[Any] = []
    talk.harness.subscribe(heard.append)
    await talk.harness.prompt("go")
    assert heard == talk.events
    assert {failure.hook for failure in talk.failures} == {event.type for event in heard}


async def test_a_listener_can_withdraw() -> None:
    talk = Harness(says("one"))
    heard: list[Any] = []
    withdraw = talk.harness.subscribe(heard.append)
    withdraw()
    withdraw()
    await talk.harness.prompt("go")
    assert heard == []


# ---- before_agent_start


async def test_before_agent_start_knows_the_prompt_its_pictures_and_what_started_it() -> None:
    talk = Harness(says("one"), says("two"))
    seen: list[BeforeAgentStart] = []
    talk.harness.hooks.on(BEFORE_AGENT_START, seen.append)
    image = ImageContent("aGk=", "image/png")
    await talk.harness.prompt("look", [image])
    await talk.harness.prompt(CustomMessage("note", "by itself", True, 0))
    assert [(event.message_type, event.prompt, event.images) for event in seen] == [
        ("user", "look", [image]),
        ("custom", "by itself", []),
    ]
    assert seen[0].system_prompt == talk.model.requests[0].context.system_prompt


async def test_before_agent_start_is_not_asked_when_a_run_goes_on_without_a_prompt() -> None:
    talk = Harness(says("one"), says("two"))
    asked: list[Any] = []
    talk.harness.hooks.on(BEFORE_AGENT_START, asked.append)
    await talk.harness.follow_up("later")
    await talk.harness.continue_()
    assert asked == []


# ---- context


async def test_context_changes_what_is_sent_and_nothing_that_is_kept() -> None:
    talk = Harness(says("one"))

    def edit(event: ContextEvent) -> None:
        event.messages.append(UserMessage("in place", 0))

    def other(event: ContextEvent) -> ContextResult:
        return ContextResult([*event.messages, UserMessage("returned", 0)])

    def fail(event: ContextEvent) -> None:
        event.messages.clear()
        raise ValueError("no")

    for handler in (edit, other, fail):
        talk.harness.hooks.on(CONTEXT, handler)
    await talk.harness.prompt("go")
    assert talk.sent() == ["user: go", "user: in place", "user: returned"]
    assert talk.stored() == ["user: go", "assistant: one"]
    assert talk.harness.agent.messages[0] == talk.model.requests[0].context.messages[0]
    assert talk.harness.agent.messages[0] is not talk.model.requests[0].context.messages[0]


async def test_context_is_asked_before_each_request() -> None:
    talk = Harness(says(call("echo")), says("Done."))
    lengths: list[int] = []
    talk.harness.hooks.on(CONTEXT, lambda event: lengths.append(len(event.messages)))
    await talk.harness.prompt("go")
    assert lengths == [1, 3]


# ---- message_end


async def test_message_end_replaces_a_message_before_it_is_stored_and_told() -> None:
    talk = Harness(says("one"))

    def change(event: MessageEndEvent) -> MessageResult | None:
        match event.message:
            case UserMessage():
                return MessageResult(UserMessage("GO", 0))
            case AssistantMessage():
                return MessageResult(replace(event.message, content=[TextContent("ONE")]))
            case _:
                return None

    talk.harness.hooks.on(MESSAGE_END, change)
    result = await talk.harness.prompt("go")
    assert result.text == "ONE"
    assert talk.stored() == ["user: GO", "assistant: ONE"]
    assert talk.sent() == ["user: GO"]
    told = [event.message for event in talk.events if event.type == "message_end"]
    assert [text_of(message.content) for message in told] == ["GO", "ONE"]


async def test_message_end_is_asked_once_about_each_message() -> None:
    talk = Harness(says(call("echo")), says("Done."), says("More."))
    asked: list[str] = []
    talk.harness.hooks.on(MESSAGE_END, lambda event: asked.append(event.message.role))
    await talk.harness.follow_up("later")
    talk.harness.next_turn("beside")
    await talk.harness.prompt("go")
    assert asked == ["user", "user", "assistant", "toolResult", "assistant", "user", "assistant"]


async def test_message_end_cannot_change_the_role() -> None:
    talk = Harness(says("one"))
    talk.harness.hooks.on(MESSAGE_END, lambda event: MessageResult(UserMessage("no", 0)))
    await talk.harness.prompt("go")
    assert talk.stored() == ["user: no", "assistant: one"]
    assert [type(failure.error) for failure in talk.failures] == [ValueError]


# ---- tools


def recording(ran: list[dict[str, Any]]) -> Any:
    async def execute(id: str, arguments: dict[str, Any], signal: AbortSignal, update: OnUpdate) -> ToolResult:
        ran.append(arguments)
        return ToolResult([text("result")], details={"n": 1}, structured_content={"n": 1})

    return tool("note", execute)


async def test_tool_call_changes_the_arguments_of_the_call_and_not_of_the_record() -> None:
    ran: list[dict[str, Any]] = []
    talk = Harness(says(call("note", text="a")), says("Done."), tools=[recording(ran)])

    def change(event: ToolCallEvent) -> None:
        event.input["text"] += "b"

    def fail_after_change(event: ToolCallEvent) -> ToolCallResult:
        event.input["text"] += "c"
        return ToolCallResult()

    talk.harness.hooks.on(TOOL_CALL, change)
    talk.harness.hooks.on(TOOL_CALL, fail_after_change)
    await talk.harness.prompt("go")
    assert ran == [{"text": "abc"}]
    assert talk.harness.agent.messages[1].content[0].arguments == {"text": "a"}  # type: ignore[attr-defined]


async def test_tool_call_blocks_with_a_reason_and_nobody_else_is_asked() -> None:
    ran: list[dict[str, Any]] = []
    talk = Harness(says(call("note")), says("Done."), tools=[recording(ran)])
    asked: list[Any] = []
    talk.harness.hooks.on(TOOL_CALL, lambda event: ToolCallResult(block=True, reason="not today"))
    talk.harness.hooks.on(TOOL_CALL, asked.append)
    await talk.harness.prompt("go")
    assert talk.stored()[2] == "toolResult: not today"
    assert (ran, asked) == ([], [])


async def test_tool_call_can_end_the_run() -> None:
    talk = Harness(says(call("note")), says("never"), tools=[recording([])])
    talk.harness.hooks.on(TOOL_CALL, lambda event: ToolCallResult(block=True, reason="enough", terminate=True))
    await talk.harness.prompt("go")
    assert len(talk.model.requests) == 1


async def test_a_guard_of_tool_calls_that_raises_blocks_the_call() -> None:
    ran: list[dict[str, Any]] = []
    talk = Harness(says(call("note")), says("Done."), tools=[recording(ran)])

    def broken(event: ToolCallEvent) -> None:
        raise ValueError("no list")

    talk.harness.hooks.on(TOOL_CALL, broken, owner="guard")
    await talk.harness.prompt("go")
    assert talk.stored()[2].startswith("toolResult: Tool call blocked")
    assert ran == []
    assert [failure.owner for failure in talk.failures] == ["guard"]


async def test_siblings_are_asked_about_one_after_another_then_run_together() -> None:
    order: list[str] = []

    async def execute(id: str, arguments: dict[str, Any], signal: AbortSignal, update: OnUpdate) -> ToolResult:
        order.append(f"run {id}")
        await asyncio.sleep(0.01)
        return ToolResult.of_text("x")

    async def ask(event: ToolCallEvent) -> None:
        order.append(f"ask {event.tool_call_id}")
        await asyncio.sleep(0.001)

    talk = Harness(says(call("note", "a"), call("note", "b")), says("Done."), tools=[tool("note", execute)])
    talk.harness.hooks.on(TOOL_CALL, ask)
    await talk.harness.prompt("go")
    assert order == ["ask a", "ask b", "run a", "run b"]


async def test_tool_result_patches_are_chained() -> None:
    talk = Harness(says(call("note")), says("Done."), tools=[recording([])])
    seen: list[ToolResultEvent] = []

    def first(event: ToolResultEvent) -> ToolResultPatch:
        seen.append(event)
        return ToolResultPatch(content=[text("patched")])

    def second(event: ToolResultEvent) -> ToolResultPatch:
        seen.append(event)
        return ToolResultPatch(details={"n": 2}, is_error=True)

    talk.harness.hooks.on(TOOL_RESULT, first)
    talk.harness.hooks.on(TOOL_RESULT, second)
    await talk.harness.prompt("go")
    assert [(text_of(event.content), event.details, event.structured_content) for event in seen] == [
        ("result", {"n": 1}, {"n": 1}),
        ("patched", {"n": 1}, None),
    ]
    message: Any = talk.harness.agent.messages[2]
    assert (text_of(message.content), message.details, message.is_error) == ("patched", {"n": 2}, True)


# ---- turn_end


async def test_turn_end_knows_the_entries_of_its_turn() -> None:
    talk = Harness(says(call("echo", "a"), call("echo", "b")), says("Done."))
    seen: list[TurnEndEvent] = []
    talk.harness.hooks.on(TURN_END, seen.append)
    await talk.harness.prompt("go")
    heads = talk.harness.session.heads
    assert seen[0].message_entry_id == heads[1].id
    assert list(seen[0].tool_result_entry_ids) == [heads[2].id, heads[3].id]
    assert [event.turn_index for event in seen] == [0, 1]
    assert [len(event.context) for event in seen] == [4, 5]
    assert [event.outcome for event in seen] == ["completed", "completed"]


# ---- the provider


async def test_hooks_on_requests_see_and_change_what_goes_over_the_wire(place: Place) -> None:
    with ScriptedServer([replies.openai("Hi."), replies.openai("Ho.")]) as server:
        place.write_models(server.url)
        models = Models.open(place.agent, environ={})
        model = models.find("stub", "m1")
        assert model is not None
        order: list[str] = []

        async def embedders(body: dict[str, Any], model: Model) -> dict[str, Any]:
            order.append("options")
            return {**body, "from_options": 1}

        harness = AgentHarness(
            models=models,
            model=model,
            environment=LocalEnvironment(place.cwd),
            session=Session.in_memory("/"),
            options=StreamOptions(on_payload=embedders, headers={"x-own": "1"}),
        )

        def payload(event: BeforeProviderRequest) -> dict[str, Any]:
            order.append("hook")
            return {**event.payload, "from_hook": 2}

        def headers(event: BeforeProviderHeaders) -> None:
            event.headers["x-hook"] = "yes"
            event.headers["x-own"] = None

        def broken(event: BeforeProviderHeaders) -> None:
            event.headers["x-broken"] = "yes"
            raise ValueError("no")

        responses: list[int] = []
        records: list[str] = []
        harness.hooks.on(BEFORE_PROVIDER_REQUEST, payload)
        harness.hooks.on(BEFORE_PROVIDER_HEADERS, headers)
        harness.hooks.on(BEFORE_PROVIDER_HEADERS, broken)
        harness.hooks.on(AFTER_PROVIDER_RESPONSE, lambda event: responses.append(event.status))
        harness.hooks.on(PROVIDER_STREAM_EVENT, lambda event: records.append(event.data.get("object", "")))
        await harness.prompt("go")
        harness.hooks.drop(None)
        await harness.prompt("go on")
        await models.aclose()
    first, second = server.requests
    assert order == ["options", "hook", "options"]
    assert (first.body["from_options"], first.body["from_hook"]) == (1, 2)
    assert first.headers["x-hook"] == "yes"
    assert "x-broken" not in first.headers
    assert ("x-own" in first.headers, second.headers["x-own"]) == (False, "1")
    assert "from_hook" not in second.body
    assert responses == [200]
    assert "chat.completion.chunk" in records
