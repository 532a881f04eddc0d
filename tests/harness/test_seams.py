"""What handlers of a run's hooks may ask for: other prompts, more messages, more requests, nested calls."""

from __future__ import annotations

from typing import Any

from piolet.agent.tools import AgentTool, ToolResult
from piolet.base.abort import AbortSignal
from piolet.harness.compaction.hook_points import SESSION_BEFORE_TREE, BeforeTree, TreeDecision
from piolet.harness.drafts import ContextEditDraft, CustomDraft, CustomMessageDraft
from piolet.harness.hook_points import (
    AGENT_BEFORE_SETTLE,
    BEFORE_AGENT_START,
    TOOL_CALL,
    TOOL_RESULT,
    TURN_END,
    BeforeAgentStart,
    BeforeSettleEvent,
    Boundary,
    StartResult,
    ToolCallEvent,
    ToolCallResult,
    ToolResultEvent,
    ToolResultPatch,
    TurnEndEvent,
)
from piolet.harness.hooks import Hook, Hooks
from piolet.harness.messages import CustomMessage
from piolet.harness.nested_calls import execute_tool
from piolet.harness.prompt.parts import PromptParts
from piolet.harness.session.session import Session
from piolet.llm.messages import text, text_of
from tests.agent.conversation import ECHO
from tests.harness.talk import Harness
from tests.support.scripted_model import call, says

NOTE: Hook[str, str] = Hook("note", fold=lambda event, more: event + more)


async def test_handlers_are_asked_by_rank_then_in_the_order_of_registration() -> None:
    hooks = Hooks()
    for word, rank in (("c", 2), ("a", 1), ("d", 2), ("b", 1), ("0", 0)):
        hooks.on(NOTE, lambda event, word=word: word, rank=rank)  # type: ignore[misc]
    assert await hooks.run(NOTE, "") == "0abcd"


# ---- before_agent_start


async def test_appended_texts_and_replaced_prompts_are_chained() -> None:
    talk = Harness(says("Done."), prompt=PromptParts(base="BASE", append=["TAIL"]))
    seen: list[str] = []

    def append(event: BeforeAgentStart) -> StartResult:
        seen.append(event.system_prompt)
        return StartResult(append_system_prompt="MORE")

    def replace(event: BeforeAgentStart) -> StartResult:
        seen.append(event.system_prompt)
        return StartResult(system_prompt="NEW " + event.system_prompt, append_system_prompt="LAST")

    talk.harness.hooks.on(BEFORE_AGENT_START, append)
    talk.harness.hooks.on(BEFORE_AGENT_START, replace)
    await talk.harness.prompt("go")
    sent = talk.model.requests[0].context.system_prompt
    assert seen[0].startswith("BASE\n\nTAIL\n")
    assert seen[1].startswith("BASE\n\nTAIL\n\nMORE\n")
    assert sent == f"NEW {seen[1]}\n\nLAST"


async def test_what_a_handler_leaves_in_its_lists_of_prompt_options_is_used_for_the_run_only() -> None:
    talk = Harness(says("one"), says("two"), prompt=PromptParts(base="BASE", append=["SECRET"]))

    async def edit(event: BeforeAgentStart) -> None:
        event.system_prompt_options.append[:] = ["PUBLIC"]  # type: ignore[index]

    async def fail(event: BeforeAgentStart) -> None:
        event.system_prompt_options.append[:] = ["BROKEN"]  # type: ignore[index]
        raise ValueError("no")

    off = talk.harness.hooks.on(BEFORE_AGENT_START, edit)
    talk.harness.hooks.on(BEFORE_AGENT_START, fail)
    await talk.harness.prompt("go")
    off()
    await talk.harness.prompt("go")
    first, second = (request.context.system_prompt or "" for request in talk.model.requests)
    assert "PUBLIC" in first
    assert "SECRET" not in first
    assert "SECRET" in second
    assert "BROKEN" not in first + second


async def test_a_run_begins_with_the_prompt_then_what_waited_for_it_then_what_handlers_add() -> None:
    talk = Harness(says("Done."))
    stored: list[list[str]] = []

    def add(event: BeforeAgentStart) -> StartResult:
        stored.append(talk.stored())
        assert (event.message_type, event.prompt) == ("user", "go")
        return StartResult(message=CustomMessageDraft("extra", "added"))

    talk.harness.hooks.on(BEFORE_AGENT_START, add)
    talk.harness.next_turn(CustomMessage("note", "waited", True, 1))
    await talk.harness.prompt("go")
    assert stored == [["user: go", "custom: waited"]]
    assert talk.stored() == ["user: go", "custom: waited", "custom: added", "assistant: Done."]
    assert [text_of(m.content) for m in talk.model.requests[0].context.messages] == ["go", "waited", "added"]


async def test_what_waits_for_the_next_prompt_is_stored_when_the_harness_closes() -> None:
    talk = Harness()
    talk.harness.next_turn(CustomMessage("note", "waited", True, 1))
    await talk.harness.close()
    assert talk.stored() == ["custom: waited"]


# ---- boundaries


async def test_a_handler_of_turn_end_gets_exactly_one_more_request() -> None:
    talk = Harness(says("one"), says("two"))
    asked: list[int] = []

    def more(event: TurnEndEvent) -> Boundary | None:
        asked.append(len(event.context))
        return Boundary([CustomMessageDraft("check", "Sure?")], continue_=True) if len(asked) == 1 else None

    talk.harness.hooks.on(TURN_END, more)
    await talk.harness.prompt("go")
    assert talk.stored() == ["user: go", "assistant: one", "custom: Sure?", "assistant: two"]
    assert asked == [2, 4]


async def test_one_more_request_is_made_though_the_conversation_ends_with_an_answer() -> None:
    talk = Harness(says("one"), says("two"))
    asked: list[BeforeSettleEvent] = []

    def more(event: BeforeSettleEvent) -> Boundary | None:
        asked.append(event)
        return Boundary(continue_=True) if len(asked) == 1 else None

    talk.harness.hooks.on(AGENT_BEFORE_SETTLE, more)
    await talk.harness.prompt("go")
    assert talk.stored() == ["user: go", "assistant: one", "assistant: two"]
    assert [(len(event.context), event.outcome) for event in asked] == [(2, "completed"), (3, "completed")]


async def test_a_request_that_comes_anyway_is_not_made_twice() -> None:
    talk = Harness(says(call("echo", text="x")), says("Done."))
    asked: list[TurnEndEvent] = []

    def more(event: TurnEndEvent) -> Boundary | None:
        asked.append(event)
        return Boundary(continue_=True) if len(asked) == 1 else None

    talk.harness.hooks.on(TURN_END, more)
    await talk.harness.prompt("go")
    assert len(talk.model.requests) == 2


async def test_entries_of_a_boundary_are_stored_together_or_not_at_all() -> None:
    talk = Harness(says("Done."))
    talk.harness.hooks.on(TURN_END, lambda event: Boundary([CustomDraft("state", 1)]))
    talk.harness.hooks.on(TURN_END, lambda event: Boundary([ContextEditDraft("nowhere")]))
    result = await talk.harness.prompt("go")
    assert result.outcome == "completed"
    assert talk.stored() == ["user: go", "assistant: Done."]
    assert not [entry for entry in talk.harness.session.entries if entry.type == "custom"]
    assert [(failure.hook, type(failure.error).__name__) for failure in talk.failures] == [("turn_end", "UnknownEntry")]


# ---- appending


async def test_a_message_that_is_appended_is_told_like_any_other() -> None:
    talk = Harness(says("Done."))
    await talk.harness.append(CustomMessageDraft("note", "hello"))
    assert [(event.type, event.message.content) for event in talk.events] == [
        ("message_start", "hello"),
        ("message_end", "hello"),
    ]
    await talk.harness.prompt("go")
    assert talk.stored() == ["custom: hello", "user: go", "assistant: Done."]


async def test_what_waits_for_the_end_of_a_navigation_is_appended_then() -> None:
    talk = Harness(says("one"))
    await talk.harness.prompt("go")

    async def write(event: BeforeTree) -> TreeDecision:
        assert await talk.harness.append(CustomMessageDraft("note", "meanwhile")) is None
        return TreeDecision(cancel=True)

    talk.harness.hooks.on(SESSION_BEFORE_TREE, write)
    assert (await talk.harness.navigate_tree(talk.harness.session.heads[0].id)).cancelled
    assert talk.stored() == ["user: go", "assistant: one", "custom: meanwhile"]
    assert len(talk.harness.agent.messages) == 3


# ---- nested calls


async def test_a_tool_can_call_another_with_the_hooks_around_it() -> None:
    updates: list[str] = []
    results: list[ToolResult] = []

    async def outer(id: str, arguments: dict[str, Any], signal: AbortSignal, update: Any) -> ToolResult:
        for name, given in (("echo", {"text": "inner"}), ("echo", {"text": "forbidden"}), ("missing", {})):
            results.append(await execute_tool(talk.harness, name, given, parent=id, signal=signal))
        return ToolResult.of_text("outer")

    tool = AgentTool("outer", "Calls.", {"type": "object", "properties": {}}, outer)
    talk = Harness(says(call("outer", id="c7")), says("Done."), tools=(ECHO, tool))
    parents: list[tuple[str, str | None]] = []

    def guard(event: ToolCallEvent) -> ToolCallResult | None:
        parents.append((event.tool_name, event.parent_tool_call_id))
        return ToolCallResult(True, "refused") if event.input.get("text") == "forbidden" else None

    def patch(event: ToolResultEvent) -> ToolResultPatch | None:
        return ToolResultPatch([text("patched")]) if event.parent_tool_call_id else None

    talk.harness.hooks.on(TOOL_CALL, guard)
    talk.harness.hooks.on(TOOL_RESULT, patch)
    talk.harness.hooks.on("tool_execution_end", lambda event: updates.append(event.parent_tool_call_id))
    await talk.harness.prompt("go")
    assert [(text_of(result.content), result.is_error) for result in results] == [
        ("patched", False),
        ("refused", True),
        ("Tool missing not found", True),
    ]
    assert parents == [("outer", None), ("echo", "c7"), ("echo", "c7")]
    assert updates == ["c7", "c7", "c7", None]
    assert talk.stored() == ["user: go", "assistant: ", "toolResult: outer", "assistant: Done."]
    assert [event.tool_call_id for event in talk.events if event.type == "tool_execution_start"] == ["c7"]


async def test_a_session_takes_state_while_a_run_is_under_way() -> None:
    talk = Harness(says(call("echo", text="x")), says("Done."))

    async def state(event: Any) -> None:
        if event.type == "tool_execution_end":
            assert await talk.harness.append(CustomDraft("state", {"n": 1})) is not None
            assert await talk.harness.append(CustomMessageDraft("note", "after the turn")) is None

    talk.harness.subscribe(state)
    await talk.harness.prompt("go")
    assert [entry.type for entry in talk.harness.session.entries if entry.type != "message"] == [
        "custom",
        "custom_message",
    ]
    assert talk.stored() == ["user: go", "assistant: ", "toolResult: x", "custom: after the turn", "assistant: Done."]
    assert isinstance(talk.harness.session, Session)
