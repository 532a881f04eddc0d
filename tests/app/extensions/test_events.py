"""One extension hears every event of a life with tools, an abort, a compaction, a branch, a reload: order and payload.

Two more change what can be changed, in a chain, and one fails at every event: nobody else notices.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from piolet.agent.tools import OnUpdate, ToolResult
from piolet.app.extensions.api import ExtensionAPI
from piolet.app.extensions.contexts import ExtensionContext
from piolet.app.extensions.events import ANSWERED, OBSERVED
from piolet.app.hook_points import (
    BashResult,
    InputEvent,
    InputResult,
    ResourcesDiscover,
    SessionShutdown,
    UiPrompt,
    UserBash,
    UserBashResult,
)
from piolet.app.options import NewSession
from piolet.app.prompt import PromptRejected
from piolet.app.trust import ProjectTrustEvent
from piolet.harness.compaction.hook_points import (
    BeforeCompact,
    BeforeTree,
    BranchSummaryProposal,
    CompactDecision,
    CompactionProposal,
    TreeDecision,
)
from piolet.harness.drafts import CustomDraft, CustomMessageDraft
from piolet.harness.environments.local import LocalEnvironment
from piolet.harness.events import SessionCompact, SessionTree
from piolet.harness.hook_points import (
    BeforeSettleEvent,
    Boundary,
    ContextEvent,
    ContextResult,
    MessageEndEvent,
    MessageResult,
    StartResult,
    ToolCallEvent,
    ToolCallResult,
    ToolResultEvent,
    ToolResultPatch,
    TurnEndEvent,
)
from piolet.llm.messages import AssistantMessage, TextContent, UserMessage, text, text_of
from tests.app.extensions.stage import Stage, stage, write
from tests.support.replies import Call, openai
from tests.support.scripted_model import call, fails, hangs, says
from tests.support.server import ScriptedServer
from tests.support.timing import until

EVERY = sorted(OBSERVED | ANSWERED)


def listener(heard: list[tuple[str, Any]]) -> Callable[[ExtensionAPI], None]:
    """An extension that only listens, to everything."""

    def extension(pi: ExtensionAPI) -> None:
        for name in EVERY:
            pi.on(name, lambda event, ctx, name=name: heard.append((name, event)))  # type: ignore[call-overload]

    return extension


def breaker(pi: ExtensionAPI) -> None:
    """An extension that fails at every event but those where a failure decides something."""

    def fail(event: Any, ctx: Any) -> None:
        for field in ("messages", "input", "headers", "payload"):
            if hasattr(value := getattr(event, field, None), "clear"):
                value.clear()
        raise ValueError("broken")

    for name in EVERY:
        if name not in ("tool_call", "user_bash", "session_start"):
            pi.on(name, fail)  # type: ignore[call-overload]


def names(heard: list[tuple[str, Any]], *left_out: str) -> list[str]:
    return [name for name, _ in heard if name not in left_out]


NOISE = ("message_update", "message_start", "message_end", "provider_stream_event", "tool_execution_update")


async def test_every_event_of_a_life_is_told_in_its_order(tmp_path: Path) -> None:
    heard: list[tuple[str, Any]] = []
    replies = [
        openai("Look: ", Call("bash", {"command": "true"})),
        openai("Done."),
        openai("A long answer."),
        openai("# The summary"),
        openai("# The summary"),
        openai("# The branch"),
        {"stream": [{"delta": {"role": "assistant", "content": "Slow"}}, {"sleep_ms": 5000}]},
    ]
    write(tmp_path / "work" / ".pi" / "SYSTEM.md", "Untrusted prompt")
    settings = tmp_path / "home" / ".pi" / "agent" / "settings.json"
    write(settings, '{"compaction": {"keepRecentTokens": 1}, "retry": {"baseDelayMs": 1}}')
    trusting = tmp_path / "home" / ".pi" / "agent" / "extensions" / "trusting.py"
    write(trusting, "def extension(pi):\n    pi.on('project_trust', lambda event, ctx: {'trusted': 'no'})\n")
    with ScriptedServer(replies) as server:

        def provider(pi: ExtensionAPI) -> None:
            models = [{"id": "m", "reasoning": True, "contextWindow": 100_000, "maxTokens": 8000}]
            config = {"api": "openai-completions", "baseUrl": f"{server.url}/v1", "apiKey": "k", "models": models}
            pi.register_provider("stub", config)

            async def ask(args: str, ctx: ExtensionContext) -> None:
                await asyncio.gather(ctx.ui.confirm("Sure?", "Really"), ctx.ui.input("Name"))
                pi.set_session_name("Named")
                pi.set_thinking_level("low" if args == "low" else "high")

            pi.register_command("ask", ask)

        factories = [breaker, provider, listener(heard)]
        options: dict[str, Any] = {"model": "stub/m:medium", "session": NewSession(), "answers": [True, "x"]}
        async with stage(tmp_path, factories=factories, **options) as made:
            assert names(heard) == ["session_start", "resources_discover"]
            assert (heard[0][1].reason, heard[1][1].reason) == ("startup", "startup")
            heard.clear()

            await made.prompt("go")
            assert names(heard, *NOISE) == [
                "input",
                "before_agent_start",
                "agent_start",
                "turn_start",
                "context",
                "before_provider_request",
                "before_provider_headers",
                "after_provider_response",
                "tool_execution_start",
                "tool_call",
                "tool_result",
                "tool_execution_end",
                "turn_end",
                "turn_start",
                "context",
                "before_provider_request",
                "before_provider_headers",
                "after_provider_response",
                "turn_end",
                "agent_end",
                "agent_before_settle",
                "agent_settled",
            ]
            check_first_run(heard)
            heard.clear()

            await made.prompt("/ask low")
            told = dict(heard)
            assert set(told) >= {"ui_prompt_start", "ui_prompt_end", "session_info_changed", "thinking_level_select"}
            assert names(heard).count("ui_prompt_start") == names(heard).count("ui_prompt_end") == 1
            assert told["ui_prompt_start"] == UiPrompt("extension", "confirm", "Sure?")
            assert (told["thinking_level_select"].previous_level, told["thinking_level_select"].level) == (
                "medium",
                "low",
            )
            assert told["session_info_changed"].name == "Named"
            heard.clear()

            await made.prompt("more")
            await made.runtime.session.compact("Dwell on names")
            compaction = [(name, event) for name, event in heard if name.startswith("session_")]
            assert [name for name, _ in compaction] == ["session_before_compact", "session_compact"]
            before, after = compaction[0][1], compaction[1][1]
            assert isinstance(before, BeforeCompact)
            assert (before.reason, before.custom_instructions, before.will_retry) == ("manual", "Dwell on names", False)
            assert before.preparation.messages_to_summarize
            assert before.branch_entries
            assert isinstance(after, SessionCompact)
            assert (after.from_extension, after.compaction_entry.summary[:13]) == (False, "# The summary")
            heard.clear()

            target = made.runtime.session.fork_points()[0][0]
            await made.runtime.session.harness.navigate_tree(target, summarize=True)
            moves = [(name, event) for name, event in heard if name.startswith("session_")]
            assert [name for name, _ in moves] == ["session_before_tree", "session_tree"]
            assert isinstance(moves[0][1], BeforeTree)
            assert moves[0][1].preparation.target_id == target
            assert moves[0][1].preparation.user_wants_summary
            assert isinstance(moves[1][1], SessionTree)
            assert moves[1][1].summary_entry.summary.endswith("# The branch")
            heard.clear()

            run = asyncio.create_task(made.prompt("slow"))
            await until(lambda: "message_update" in names(heard))
            await made.runtime.session.abort()
            await run
            assert dict(heard)["turn_end"].outcome == "aborted"
            assert dict(heard)["agent_settled"].aborted is True
            heard.clear()

            await made.runtime.session.bash("echo hi")
            assert dict(heard)["user_bash"].command == "echo hi"
            await made.runtime.session.cycle_model()
            await made.runtime.session.harness.set_model(made.runtime.session.harness.model)
            assert dict(heard)["model_select"].source == "set"
            heard.clear()

            await made.runtime.reload()
            assert names(heard) == ["session_shutdown", "session_start", "resources_discover"]
            assert isinstance(heard[2][1], ResourcesDiscover)
            heard.clear()
            await made.runtime.clone()
            await made.runtime.new_session()
            assert names(heard, "model_select", "thinking_level_select") == [
                "session_before_fork",
                "session_shutdown",
                "session_start",
                "resources_discover",
                "session_before_switch",
                "session_shutdown",
                "session_start",
                "resources_discover",
            ]
            heard.clear()
            check_faults(made)
        assert names(heard) == ["session_shutdown"]
        assert heard[0][1] == SessionShutdown("quit")


def check_first_run(heard: list[tuple[str, Any]]) -> None:
    """The payload of the events of a run with one tool call."""
    first = dict(reversed(heard))
    last = dict(heard)
    assert (first["input"].text, first["input"].source, first["input"].streaming_behavior) == (
        "go",
        "interactive",
        None,
    )
    assert (first["before_agent_start"].prompt, first["before_agent_start"].message_type) == ("go", "user")
    assert "Current working directory" in first["before_agent_start"].system_prompt
    assert first["turn_start"].turn_index == 0
    assert [message.role for message in first["context"].messages] == ["user"]
    assert first["before_provider_request"].payload["model"] == "m"
    assert {"authorization", "content-type"} <= {name.lower() for name in first["before_provider_headers"].headers}
    assert first["after_provider_response"].status == 200
    record = first["provider_stream_event"]
    assert (record.provider, record.model) == ("stub", "m")
    assert (first["tool_execution_start"].tool_name, first["tool_execution_start"].args) == (
        "bash",
        {"command": "true"},
    )
    assert (first["tool_call"].tool_name, first["tool_call"].input, first["tool_call"].parent_tool_call_id) == (
        "bash",
        {"command": "true"},
        None,
    )
    assert (first["tool_result"].tool_name, first["tool_result"].is_error) == ("bash", False)
    assert first["tool_execution_end"].duration_ms >= 0
    turn = first["turn_end"]
    assert (turn.turn_index, len(turn.tool_results), turn.outcome) == (0, 1, "completed")
    assert turn.message_entry_id
    assert len(turn.tool_result_entry_ids) == 1
    assert [message.role for message in turn.context] == ["user", "assistant", "toolResult"]
    assert [message.role for message in last["agent_end"].messages] == ["user", "assistant", "toolResult", "assistant"]
    assert last["agent_before_settle"].outcome == "completed"
    assert last["agent_settled"].aborted is False
    updates = [event for name, event in heard if name == "message_update"]
    assert updates[-1].assistant_message_event.type == "text_end"
    assert isinstance(updates[-1].message, AssistantMessage)
    ends = [event.message.role for name, event in heard if name == "message_end"]
    assert ends == ["user", "assistant", "toolResult", "assistant"]


def check_faults(made: Stage) -> None:
    """Each failure was reported with its event, and with nothing else."""
    assert {event for _, event, _ in made.faults} >= set(EVERY) - {
        *("tool_call", "user_bash", "session_start", "project_trust"),
        *("tool_execution_update", "session_compact_failed"),
    }
    assert {text for _, _, text in made.faults} == {"broken"}
    assert all("in fail" in failure.stack for failure in made.failures)


async def test_the_rest_of_the_events(tmp_path: Path) -> None:
    heard: list[tuple[str, Any]] = []

    def tool(pi: ExtensionAPI) -> None:
        @pi.tool
        async def progress(update: OnUpdate) -> str:
            """Tells how far it is."""
            update(ToolResult.of_text("half"))
            await asyncio.sleep(0.02)
            return "whole"

    settings = tmp_path / "home" / ".pi" / "agent" / "settings.json"
    write(settings, '{"compaction": {"keepRecentTokens": 1}, "retry": {"enabled": false}}')
    replies = says(call("progress")), says("Done."), fails("no summary today")
    async with stage(tmp_path, *replies, factories=[tool, listener(heard)]) as made:
        await made.prompt("go")
        assert dict(heard)["tool_execution_update"].partial_result.content == [TextContent("half")]
        with pytest.raises(Exception, match="no summary today"):
            await made.runtime.session.compact()
        failed = dict(heard)["session_compact_failed"]
        assert (failed.reason, failed.aborted, failed.from_extension) == ("manual", False, False)
        assert "no summary today" in failed.error_message


# ---- changing things, in a chain


async def test_input_is_transformed_in_a_chain_or_handled(tmp_path: Path) -> None:
    def first(pi: ExtensionAPI) -> None:
        @pi.on("input")
        def shout(event: InputEvent, ctx: ExtensionContext) -> InputResult | None:
            if event.text == "swallow":
                return InputResult("handled")
            return InputResult("transform", text=event.text.upper())

    def second(pi: ExtensionAPI) -> None:
        pi.on("input", lambda event, ctx: {"action": "transform", "text": event.text + "!", "images": []})
        pi.on("input", lambda event, ctx: {"action": "continue", "text": "ignored"})

    async with stage(tmp_path, says("One."), factories=[first, second]) as made:
        await made.prompt("hello")
        await made.prompt("swallow")
        assert made.stored() == ["user: HELLO!", "assistant: One."]


async def test_prompts_and_messages_before_a_run_come_in_load_order(tmp_path: Path) -> None:
    def first(pi: ExtensionAPI) -> None:
        pi.on("before_agent_start", lambda event, ctx: {"message": {"customType": "a", "content": "A"}})
        pi.on("before_agent_start", lambda event, ctx: StartResult(append_system_prompt="Be kind."))

    def second(pi: ExtensionAPI) -> None:
        @pi.on("before_agent_start")
        async def replace(event: Any, ctx: ExtensionContext) -> StartResult:
            assert "Be kind." in event.system_prompt
            return StartResult(CustomMessageDraft("b", "B"), system_prompt="All of it: " + event.system_prompt[-20:])

    replies = says(call("bash", command="true")), says("One."), says("Two.")
    async with stage(tmp_path, *replies, factories=[first, second]) as made:
        await made.prompt("go")
        assert made.stored()[:3] == ["user: go", "custom: A", "custom: B"]
        prompts = [request.context.system_prompt or "" for request in made.model.requests]
        assert all(prompt.startswith("All of it: ") for prompt in prompts)


async def test_each_context_handler_has_a_copy_that_counts_if_it_returns(tmp_path: Path) -> None:
    def first(pi: ExtensionAPI) -> None:
        @pi.on("context")
        def edit(event: ContextEvent, ctx: ExtensionContext) -> None:
            event.messages.append(UserMessage([TextContent("in place")], 1))

        @pi.on("context")
        def fail(event: ContextEvent, ctx: ExtensionContext) -> None:
            event.messages.clear()
            raise ValueError("too late")

    def second(pi: ExtensionAPI) -> None:
        @pi.on("context")
        def replace(event: ContextEvent, ctx: ExtensionContext) -> ContextResult:
            assert len(event.messages) == 2
            return ContextResult([*event.messages, UserMessage([TextContent("replaced")], 2)])

    async with stage(tmp_path, says("One."), factories=[first, second]) as made:
        await made.prompt("go")
        sent = [text_of(message.content) for message in made.model.requests[0].context.messages]
        assert sent == ["go", "in place", "replaced"]
        assert made.stored() == ["user: go", "assistant: One."]
        assert [event for _, event, _ in made.faults] == ["context"]


async def test_tool_calls_are_changed_blocked_and_guarded(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    for name in ("a", "b"):
        (tmp_path / "work" / f"{name}.txt").write_text(f"content of {name}")

    def first(pi: ExtensionAPI) -> None:
        @pi.on("tool_call")
        def redirect(event: ToolCallEvent, ctx: ExtensionContext) -> None:
            if event.input.get("path") == "a.txt":
                event.input["path"] = "b.txt"
            if event.input.get("path") == "boom":
                event.input["path"] = "b.txt"
                raise RuntimeError("the guard fell asleep")

    def second(pi: ExtensionAPI) -> None:
        @pi.on("tool_call")
        def forbid(event: ToolCallEvent, ctx: ExtensionContext) -> ToolCallResult | None:
            assert event.input["path"] != "a.txt"
            return ToolCallResult(True, "not c") if event.input["path"] == "c.txt" else None

        @pi.on("tool_call")
        def spoil(event: ToolCallEvent, ctx: ExtensionContext) -> None:
            if event.input["path"] == "d.txt":
                event.input["offset"] = {"not": "a number"}

    calls = [call("read", id=f"c{n}", path=path) for n, path in enumerate(("a.txt", "boom", "c.txt", "d.txt"))]
    async with stage(tmp_path, says(*calls), says("Done."), factories=[first, second]) as made:
        await made.prompt("go")
        results = [line.removeprefix("toolResult: ") for line in made.stored() if line.startswith("toolResult")]
        assert results[0] == "content of b"
        assert "the guard fell asleep" in results[1]
        assert results[2] == "not c"
        assert "offset" in results[3]
        assert [event for _, event, _ in made.faults] == ["tool_call"]


async def test_results_are_patched_in_a_chain(tmp_path: Path) -> None:
    def first(pi: ExtensionAPI) -> None:
        @pi.on("tool_result")
        def patch(event: ToolResultEvent, ctx: ExtensionContext) -> ToolResultPatch:
            return ToolResultPatch([text(text_of(event.content) + " one")], details={"by": "first"})

    def second(pi: ExtensionAPI) -> None:
        pi.on(
            "tool_result",
            lambda event, ctx: {
                "content": [{"type": "text", "text": text_of(event.content) + " two"}],
                "isError": True,
            },
        )

    async with stage(tmp_path, says(call("bash", command="true")), says("Done."), factories=[first, second]) as made:
        await made.prompt("go")
        (result,) = [m for m in made.runtime.session.harness.agent.messages if m.role == "toolResult"]
        assert text_of(result.content).endswith(" one two")  # type: ignore[attr-defined]
        assert (result.is_error, result.details) == (True, {"by": "first"})  # type: ignore[attr-defined]


async def test_a_message_can_be_replaced_before_it_is_stored_but_keeps_its_role(tmp_path: Path) -> None:
    def extension(pi: ExtensionAPI) -> None:
        @pi.on("message_end")
        def censor(event: MessageEndEvent, ctx: ExtensionContext) -> MessageResult | None:
            if not isinstance(event.message, AssistantMessage):
                return None
            words = {"role": "assistant", "content": [{"type": "text", "text": "censored"}]}
            fields = {"api": "x", "provider": "test", "model": "scripted-1", "stopReason": "stop", "timestamp": 1}
            return {"message": words | fields}  # type: ignore[return-value]

        @pi.on("message_end")
        def turncoat(event: MessageEndEvent, ctx: ExtensionContext) -> MessageResult:
            return MessageResult(UserMessage([TextContent("x")], 1) if event.message.role != "user" else event.message)

    async with stage(tmp_path, says("A secret."), factories=[extension]) as made:
        await made.prompt("go")
        assert made.stored() == ["user: go", "assistant: censored"]
        shown = [event.message for event in made.events if event.type == "message_end"]
        assert text_of(shown[-1].content) == "censored"
        assert [event for _, event, _ in made.faults] == ["message_end"]


async def test_requests_are_changed_on_their_way(tmp_path: Path) -> None:
    with ScriptedServer([openai("One.")]) as server:

        def provider(pi: ExtensionAPI) -> None:
            config = {
                "api": "openai-completions",
                "baseUrl": f"{server.url}/v1",
                "apiKey": "k",
                "models": [{"id": "m"}],
            }
            pi.register_provider("stub", config)
            pi.on("before_provider_request", lambda event, ctx: {**event.payload, "user": "ada"})
            pi.on("before_provider_request", lambda event, ctx: {**event.payload, "user": event.payload["user"] + "!"})

            @pi.on("before_provider_headers")
            def headers(event: Any, ctx: ExtensionContext) -> str:
                event.headers["x-extra"] = "yes"
                event.headers["user-agent"] = None
                return "ignored"

        async with stage(tmp_path, factories=[provider], model="stub/m") as made:
            await made.prompt("go")
            assert made.failures == []
        (request,) = server.requests
        assert request.body["user"] == "ada!"
        assert request.headers["x-extra"] == "yes"


async def test_boundaries_ask_for_more(tmp_path: Path) -> None:
    def extension(pi: ExtensionAPI) -> None:
        asked: list[str] = []

        @pi.on("turn_end")
        def turned(event: TurnEndEvent, ctx: ExtensionContext) -> Boundary | None:
            asked.append("turn")
            return Boundary([CustomDraft("state", 1)], continue_=False) if len(asked) == 1 else None

        @pi.on("agent_before_settle")
        def settling(event: BeforeSettleEvent, ctx: ExtensionContext) -> Any:
            asked.append("settle")
            if asked.count("settle") > 1:
                return None
            return {"entries": [{"type": "custom_message", "customType": "more", "content": "Go on"}], "continue": True}

    async with stage(tmp_path, says("One."), says("Two."), factories=[extension]) as made:
        await made.prompt("go")
        assert made.stored() == ["user: go", "assistant: One.", "custom: Go on", "assistant: Two."]
        assert made.custom_entries("state") == [1]
        assert made.failures == []


async def test_a_summary_of_an_extension_takes_the_place_of_the_built_in_one(tmp_path: Path) -> None:
    def extension(pi: ExtensionAPI) -> None:
        @pi.on("session_before_compact")
        def compact(event: BeforeCompact, ctx: ExtensionContext) -> Any:
            if event.custom_instructions == "no":
                return CompactDecision(cancel=True)
            if event.custom_instructions == "dict":
                return {
                    "compaction": {"summary": "as a dict", "firstKeptEntryId": event.preparation.first_kept_entry_id}
                }
            return CompactDecision(compaction=CompactionProposal("our own summary"))

        @pi.on("session_before_tree")
        def tree(event: BeforeTree, ctx: ExtensionContext) -> TreeDecision:
            return TreeDecision(summary=BranchSummaryProposal("our own branch"), label="left")

    settings = tmp_path / "home" / ".pi" / "agent" / "settings.json"
    write(settings, '{"compaction": {"keepRecentTokens": 1}}')
    heard: list[tuple[str, Any]] = []
    replies = [says(f"{n}.") for n in range(4)]
    async with stage(tmp_path, *replies, factories=[extension, listener(heard)]) as made:
        await made.prompt("one")
        await made.prompt("two")
        with pytest.raises(Exception, match="cancelled"):
            await made.runtime.session.compact("no")
        result = await made.runtime.session.compact()
        assert result.summary == "our own summary"
        assert result.first_kept_entry_id
        assert result.tokens_before > 0
        assert dict(heard)["session_compact"].from_extension
        await made.prompt("three")
        assert (await made.runtime.session.compact("dict")).summary == "as a dict"
        moved = await made.runtime.session.harness.navigate_tree(
            made.runtime.session.session.heads[2].id, summarize=True
        )
        assert moved.summary_entry is not None
        assert moved.summary_entry.summary == "our own branch"
        assert made.failures == []


async def test_the_users_commands_are_run_elsewhere_answered_or_stopped(tmp_path: Path) -> None:
    other = tmp_path / "elsewhere"
    other.mkdir()

    def extension(pi: ExtensionAPI) -> None:
        @pi.on("user_bash")
        def bash(event: UserBash, ctx: ExtensionContext) -> Any:
            match event.command:
                case "pwd":
                    return UserBashResult(environment=LocalEnvironment(str(other)))
                case "magic":
                    return {"result": BashResult("abracadabra", exit_code=3)}
                case "bad":
                    return UserBashResult()
                case "raise":
                    raise ValueError("not today")
                case _:
                    return None

    async with stage(tmp_path, factories=[extension]) as made:
        bash = made.runtime.session.bash
        outputs: list[str] = []

        async def take(chunk: str) -> None:
            outputs.append(chunk)

        assert (await bash("pwd")).output.strip() == str(other)
        done = await bash("magic", exclude=True, on_output=take)
        assert (done.output, done.exit_code, done.exclude_from_context, outputs) == (
            "abracadabra",
            3,
            True,
            ["abracadabra"],
        )
        for command, why in (("bad", "either"), ("raise", "not today")):
            with pytest.raises(PromptRejected, match=why):
                await bash(command)
        assert (await bash("echo plain")).output == "plain\n"


# ---- order and isolation


async def test_handlers_run_in_load_order_then_registration_order_also_late_ones(tmp_path: Path) -> None:
    order: list[str] = []

    def first(pi: ExtensionAPI) -> None:
        pi.on("agent_start", lambda event, ctx: order.append("a1"))

        @pi.on("session_start")
        def late(event: Any, ctx: ExtensionContext) -> None:
            pi.on("agent_start", lambda event, ctx: order.append("a2"))

    def second(pi: ExtensionAPI) -> None:
        async def slow(event: Any, ctx: ExtensionContext) -> None:
            await asyncio.sleep(0.01)
            order.append("b1")

        pi.on("agent_start", slow)
        off = pi.on("agent_start", lambda event, ctx: order.append("never"))
        off()

    def third(pi: ExtensionAPI) -> None:
        @pi.on("agent_start")
        def grow(event: Any, ctx: ExtensionContext) -> None:
            order.append("c1")
            pi.on("agent_start", lambda event, ctx: order.append("not yet"))

    async with stage(tmp_path, says("One."), factories=[first, second, third]) as made:
        await made.prompt("go")
        assert order == ["a1", "a2", "b1", "c1"]


async def test_a_handler_that_hangs_is_cancelled_two_seconds_after_an_abort(tmp_path: Path) -> None:
    def extension(pi: ExtensionAPI) -> None:
        @pi.on("turn_end")
        async def hang(event: Any, ctx: ExtensionContext) -> None:
            await asyncio.sleep(60)

    async with stage(tmp_path, hangs("Hm"), factories=[extension]) as made:
        run = asyncio.create_task(made.runtime.session.prompt("go"))
        await until(lambda: made.model.requests)
        loop = asyncio.get_running_loop()
        begin = loop.time()
        await made.runtime.session.abort()
        await run
        assert 1.8 < loop.time() - begin < 30
        assert [(event, "2 s" in text) for _, event, text in made.faults] == [("turn_end", True)]


async def test_slow_handlers_are_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("piolet.harness.hooks.SLOW", 0.05)

    def extension(pi: ExtensionAPI) -> None:
        @pi.on("agent_end")
        async def slow(event: Any, ctx: ExtensionContext) -> None:
            await asyncio.sleep(0.1)

    async with stage(tmp_path, says("One."), factories=[extension]) as made:
        await made.prompt("go")
        (slow,) = (failure for failure in made.failures if failure.hook == "agent_end")
        assert slow.error is None
        assert slow.seconds >= 0.1


async def test_asking_about_a_project_has_a_context_of_its_own(tmp_path: Path) -> None:
    asked: list[Any] = []
    write(tmp_path / "work" / ".pi" / "SYSTEM.md", "x")
    path = tmp_path / "given.py"
    write(path, "import builtins\ndef extension(pi):\n    pi.on('project_trust', builtins.piolet_asked)\n")
    import builtins

    def answer(event: ProjectTrustEvent, ctx: Any) -> Any:
        asked.append((Path(event.cwd).name, Path(ctx.cwd).name, ctx.mode, ctx.has_ui, type(ctx).__name__))
        return {"trusted": "yes", "remember": True}

    builtins.piolet_asked = answer  # type: ignore[attr-defined]
    try:
        async with stage(tmp_path, paths=[path], mode="rpc") as made:
            assert asked == [("work", "work", "rpc", False, "TrustContext")]
            assert made.runtime.services.trusted
    finally:
        del builtins.piolet_asked  # type: ignore[attr-defined]
    assert str(tmp_path / "work") in (tmp_path / "home" / ".pi" / "agent" / "trust.json").read_text()
