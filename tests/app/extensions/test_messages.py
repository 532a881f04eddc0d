"""What extensions send goes the way that the specification says: next turn, steering, follow-up, run, entry."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from piolet.app.extensions.api import ExtensionAPI
from piolet.app.extensions.contexts import CommandContext, ExtensionContext
from piolet.app.hook_points import InputEvent, InputResult
from piolet.harness.drafts import CustomMessageDraft
from piolet.harness.hook_points import BeforeAgentStart, StartResult, TurnEndEvent
from piolet.llm.messages import image, text
from tests.app.extensions.stage import stage
from tests.support.scripted_model import call, says

NOTE = CustomMessageDraft("note", "the note")

#: The smallest picture.
DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABAQAAAAA3bvkkAAAACklEQVR42mNgAAAAAgAB5Sfe/AAAAABJRU5ErkJggg=="


def on_command(name: str, action: Callable[[ExtensionAPI], Any]) -> Callable[[ExtensionAPI], None]:
    """An extension whose command does `action`."""

    def extension(pi: ExtensionAPI) -> None:
        pi.register_command(name, lambda args, ctx: action(pi))

    return extension


def at_first(event: str, action: Callable[[ExtensionAPI], Any]) -> Callable[[ExtensionAPI], None]:
    """An extension that does `action` at the first `event`."""

    def extension(pi: ExtensionAPI) -> None:
        done: list[bool] = []

        def handler(event: Any, ctx: ExtensionContext) -> None:
            if not done:
                done.append(True)
                action(pi)

        pi.on(event, handler)  # type: ignore[call-overload]

    return extension


async def test_next_turn_waits_for_the_next_prompt_and_stands_between_it_and_what_handlers_add(tmp_path: Path) -> None:
    def extension(pi: ExtensionAPI) -> None:
        pi.register_command("note", lambda args, ctx: pi.send_message(NOTE, deliver_as="nextTurn"))

        @pi.on("before_agent_start")
        def add(event: BeforeAgentStart, ctx: ExtensionContext) -> StartResult:
            return StartResult(message=CustomMessageDraft("added", "added"))

    async with stage(tmp_path, says("One."), factories=[extension]) as made:
        await made.prompt("/note")
        assert made.model.requests == []
        await made.prompt("go")
        assert made.stored() == ["user: go", "custom: the note", "custom: added", "assistant: One."]


async def test_what_still_waits_is_stored_when_the_session_is_left(tmp_path: Path) -> None:
    extension = on_command("note", lambda pi: pi.send_message(NOTE, deliver_as="next_turn"))
    async with stage(tmp_path, factories=[extension]) as made:
        await made.prompt("/note")
        left = made.runtime.session.session
        await made.runtime.new_session()
        assert [entry.type for entry in left.entries if entry.type == "custom_message"] == ["custom_message"]
        assert made.stored() == []


@pytest.mark.parametrize("way", [None, "steer"])
async def test_during_a_run_a_message_steers(tmp_path: Path, way: Any) -> None:
    extension = at_first("tool_execution_start", lambda pi: pi.send_message(NOTE, deliver_as=way))
    async with stage(tmp_path, says(call("bash", command="true")), says("Done."), factories=[extension]) as made:
        await made.prompt("go")
        assert [line.split(":")[0] for line in made.stored()] == [
            "user",
            "assistant",
            "toolResult",
            "custom",
            "assistant",
        ]
        assert [event.type for event in made.events].count("agent_end") == 1


async def test_a_follow_up_comes_when_the_run_would_end(tmp_path: Path) -> None:
    extension = at_first("turn_start", lambda pi: pi.send_message(NOTE, deliver_as="followUp"))
    replies = says(call("bash", command="true")), says("One."), says("Two.")
    async with stage(tmp_path, *replies, factories=[extension]) as made:
        await made.prompt("go")
        kinds = [line.split(":")[0] for line in made.stored()]
        assert kinds == ["user", "assistant", "toolResult", "assistant", "custom", "assistant"]


async def test_a_message_of_the_last_moment_still_belongs_to_the_run(tmp_path: Path) -> None:
    extension = at_first("turn_end", lambda pi: pi.send_message(NOTE))
    async with stage(tmp_path, says("One."), says("Two."), factories=[extension]) as made:
        await made.prompt("go")
        assert made.stored() == ["user: go", "assistant: One.", "custom: the note", "assistant: Two."]
        assert [event.type for event in made.events].count("agent_settled") == 1


async def test_without_a_turn_a_message_is_stored_at_the_end_of_the_turn(tmp_path: Path) -> None:
    extension = at_first("tool_execution_start", lambda pi: pi.send_message(NOTE, trigger_turn=False))
    async with stage(tmp_path, says(call("bash", command="true")), says("Done."), factories=[extension]) as made:
        await made.prompt("go")
        kinds = [line.split(":")[0] for line in made.stored()]
        assert kinds == ["user", "assistant", "toolResult", "custom", "assistant"]


async def test_idle_a_message_is_stored_at_once_and_told(tmp_path: Path) -> None:
    def send(pi: ExtensionAPI) -> None:
        pi.send_message({"customType": "note", "content": "the note", "details": {"n": 1}})

    async with stage(tmp_path, says("One."), factories=[on_command("note", send)]) as made:
        await made.prompt("/note")
        assert made.stored() == ["custom: the note"]
        assert [event.type for event in made.events] == ["message_start", "message_end"]
        assert made.model.requests == []
        await made.prompt("go")
        assert made.stored() == ["custom: the note", "user: go", "assistant: One."]


async def test_idle_with_a_turn_a_message_starts_a_run(tmp_path: Path) -> None:
    seen: list[tuple[str, str]] = []

    def extension(pi: ExtensionAPI) -> None:
        pi.register_command("note", lambda args, ctx: pi.send_message(NOTE, trigger_turn=True))

        @pi.on("before_agent_start")
        def look(event: BeforeAgentStart, ctx: ExtensionContext) -> None:
            seen.append((event.message_type, event.prompt))

    async with stage(tmp_path, says("One."), factories=[extension]) as made:
        await made.prompt("/note")
        assert made.stored() == ["custom: the note", "assistant: One."]
        assert seen == [("custom", "the note")]


async def test_messages_sent_in_one_go_keep_their_order_and_share_a_run(tmp_path: Path) -> None:
    def send(pi: ExtensionAPI) -> None:
        pi.send_user_message("first")
        pi.send_message(NOTE, trigger_turn=True)
        with pytest.raises(RuntimeError, match="deliver_as"):
            pi.send_user_message("rejected")
        pi.send_user_message("last", deliver_as="follow_up")

    async with stage(tmp_path, says("One."), says("Two."), says("Three."), factories=[on_command("go", send)]) as made:
        await made.prompt("/go")
        lines = made.stored()
        assert lines[0] == "user: first"
        assert set(lines) >= {"custom: the note", "user: last"}
        assert [event.type for event in made.events].count("agent_settled") == 1
        assert made.failures == []


# ---- user messages


async def test_a_user_message_starts_a_run_and_is_seen_by_input_handlers(tmp_path: Path) -> None:
    seen: list[InputEvent] = []

    def extension(pi: ExtensionAPI) -> None:
        pi.register_command("ask", lambda args, ctx: pi.send_user_message([text("look"), image(DOT, "image/png")]))

        @pi.on("input")
        def listen(event: InputEvent, ctx: ExtensionContext) -> InputResult:
            seen.append(event)
            return InputResult("transform", text=event.text.upper())

    async with stage(tmp_path, says("One."), factories=[extension]) as made:
        await made.prompt("/ask")
        assert made.stored() == ["user: LOOK", "assistant: One."]
        assert [(event.text, event.source, len(event.images)) for event in seen] == [("look", "extension", 1)]


async def test_during_a_run_a_user_message_needs_to_be_told_how(tmp_path: Path) -> None:
    def send(pi: ExtensionAPI) -> None:
        with pytest.raises(RuntimeError, match="deliver_as"):
            pi.send_user_message("how?")
        pi.send_user_message("steered", deliver_as="steer")

    extension = at_first("tool_execution_start", send)
    async with stage(tmp_path, says(call("bash", command="true")), says("Done."), factories=[extension]) as made:
        await made.prompt("go")
        assert [line for line in made.stored() if line.startswith("user")] == ["user: go", "user: steered"]
        assert made.failures == []


async def test_commands_and_templates_are_carried_out_only_if_wanted(tmp_path: Path) -> None:
    prompts = tmp_path / "home" / ".pi" / "agent" / "prompts"
    prompts.mkdir(parents=True)
    (prompts / "review.md").write_text("Review $1 please")
    ran: list[str] = []

    def extension(pi: ExtensionAPI) -> None:
        pi.register_command("other", lambda args, ctx: ran.append(args))

        @pi.command("send")
        def send(args: str, ctx: CommandContext) -> None:
            words, expand = args.rsplit(" ", 1)
            pi.send_user_message(words, expand_prompt_templates=expand == "yes")

    async with stage(tmp_path, says("One."), says("Two."), says("Three."), factories=[extension]) as made:
        await made.prompt("/send /review this yes")
        await made.prompt("/send /review this no")
        await made.prompt("/send /other word yes")
        await made.prompt("/send /other word no")
        users = [line for line in made.stored() if line.startswith("user")]
        assert users == ["user: Review this please", "user: /review this", "user: /other word"]
        assert ran == ["word"]


async def test_messages_sent_when_a_run_settles_start_after_all_handlers(tmp_path: Path) -> None:
    order: list[str] = []

    def first(pi: ExtensionAPI) -> None:
        @pi.on("agent_settled")
        async def settled(event: Any, ctx: ExtensionContext) -> None:
            order.append("first")
            if order.count("first") == 1:
                assert ctx.is_idle()
                pi.send_user_message("again")
                pi.send_message(NOTE, trigger_turn=True)
                await asyncio.sleep(0.02)

    def second(pi: ExtensionAPI) -> None:
        pi.on("agent_settled", lambda event, ctx: order.append("second"))
        pi.on("agent_start", lambda event, ctx: order.append("start"))

    async with stage(tmp_path, says("One."), says("Two."), says("Three."), factories=[first, second]) as made:
        made.runtime.subscribe(lambda event: order.append("shown") if event.type == "agent_settled" else None)
        await made.prompt("go")
        assert order[:5] == ["start", "first", "second", "shown", "start"]
        assert {"user: again", "custom: the note"} <= set(made.stored())
        assert made.failures == []


async def test_a_message_that_cannot_be_sent_is_reported(tmp_path: Path) -> None:
    def extension(pi: ExtensionAPI) -> None:
        pi.register_command("empty", lambda args, ctx: pi.send_user_message(""))
        pi.register_command("wrong", lambda args, ctx: pi.send_message("text"))  # type: ignore[arg-type]
        pi.register_command("data", lambda args, ctx: pi.append_entry("x", object()))
        pi.register_command("way", lambda args, ctx: pi.send_message(NOTE, deliver_as="soon"))  # type: ignore[arg-type]

    async with stage(tmp_path, factories=[extension]) as made:
        for name in ("empty", "wrong", "data", "way"):
            await made.prompt(f"/{name}")
        assert [event for _, event, _ in made.faults] == [
            f"command:{name}" for name in ("empty", "wrong", "data", "way")
        ]
        assert made.stored() == []


async def test_entries_labels_and_names_are_there_at_once(tmp_path: Path) -> None:
    def act(pi: ExtensionAPI) -> Any:
        def run(args: str, ctx: CommandContext) -> None:
            id = pi.append_entry("state", {"n": 1})
            view = ctx.session_manager
            assert view.get_leaf_id() == id
            assert view.get_leaf_entry() == view.get_entry(id)
            pi.set_label(id, "here")
            assert view.get_label(id) == "here"
            pi.set_session_name("A name")
            assert pi.get_session_name() == view.get_session_name() == "A name"
            pi.set_label(id, None)
            assert view.get_label(id) is None

        return run

    def extension(pi: ExtensionAPI) -> None:
        pi.register_command("act", act(pi))

    async with stage(tmp_path, factories=[extension]) as made:
        await made.prompt("/act")
        await made.runtime.wait_idle()
        assert made.failures == []
        assert made.custom_entries("state") == [{"n": 1}]
        assert {"entry_appended", "session_info_changed"} <= {event.type for event in made.events}


async def test_a_run_started_by_a_turn_ends_before_the_turn_of_the_event(tmp_path: Path) -> None:
    seen: list[tuple[int, str]] = []

    def extension(pi: ExtensionAPI) -> None:
        @pi.on("turn_end")
        def turned(event: TurnEndEvent, ctx: ExtensionContext) -> None:
            seen.append((event.turn_index, event.outcome))
            assert event.message_entry_id is not None
            entry = ctx.session_manager.get_entry(event.message_entry_id)
            assert entry is not None
            assert entry.type == "message"

    async with stage(tmp_path, says(call("bash", command="true")), says("Done."), factories=[extension]) as made:
        await made.prompt("go")
        assert seen == [(0, "completed"), (1, "completed")]
        assert made.failures == []
