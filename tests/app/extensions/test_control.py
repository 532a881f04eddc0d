"""Sessions are replaced and extensions reloaded from commands; what belonged to the old session is stale."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

from piolet.app.extensions.api import ExtensionAPI
from piolet.app.extensions.contexts import CommandContext, ExtensionContext, ReplacedSessionContext
from piolet.app.extensions.errors import StaleContextError
from piolet.app.hook_points import (
    BeforeFork,
    BeforeSwitch,
    Cancel,
    ForkDecision,
    ResourcePaths,
    ResourcesDiscover,
    SessionShutdown,
    SessionStart,
)
from piolet.app.options import NewSession
from piolet.harness.hook_points import BeforeAgentStart
from piolet.harness.session.session import Session
from tests.app.extensions.stage import stage, write
from tests.support.scripted_model import call, hangs, says
from tests.support.timing import until


class Life:
    """An extension that writes down what happens to its sessions, and keeps every API and context it gets."""

    def __init__(self) -> None:
        self.log: list[Any] = []
        self.apis: list[ExtensionAPI] = []
        self.contexts: list[ExtensionContext] = []

    def __call__(self, pi: ExtensionAPI) -> None:
        self.apis.append(pi)

        @pi.on("session_start")
        def start(event: SessionStart, ctx: ExtensionContext) -> None:
            previous = event.previous_session_file
            self.log.append(("start", event.reason, bool(previous)))
            self.contexts.append(ctx)

        @pi.on("session_shutdown")
        def shutdown(event: SessionShutdown, ctx: ExtensionContext) -> None:
            ctx.session_manager.get_entries()
            self.log.append(("shutdown", event.reason, bool(event.target_session_file)))


def life(**commands: Any) -> tuple[Life, Any]:
    """An extension with `commands`, each an async function of (pi, args, ctx)."""
    kept = Life()

    def extension(pi: ExtensionAPI) -> None:
        kept(pi)
        for name, run in commands.items():
            pi.register_command(name, lambda args, ctx, run=run: run(pi, args, ctx))

    return kept, extension


async def test_a_new_session_makes_the_old_objects_stale_and_goes_on_in_the_new_one(tmp_path: Path) -> None:
    async def fresh(pi: ExtensionAPI, args: str, ctx: CommandContext) -> None:
        def setup(session: Session) -> None:
            session.append_custom("seed", args)

        async def go_on(new: ReplacedSessionContext) -> None:
            kept.log.append(("with_session", new.session_manager.get_session_id() != old))
            await new.send_message({"custom_type": "note", "content": "carried over"})
            await new.send_user_message("first in the new one")

        old = ctx.session_manager.get_session_id()
        ui, session, models = ctx.ui, ctx.session_manager, ctx.model_registry
        outcome = await ctx.new_session(setup=setup, with_session=go_on)
        assert not outcome.cancelled
        for use in (
            lambda: pi.get_flag("x"),
            lambda: pi.append_entry("x"),
            lambda: pi.on("input", print),
            lambda: pi.events.emit("x"),
            lambda: ctx.cwd,
            lambda: ctx.ui,
            lambda: ctx.session_manager,
            lambda: ctx.is_idle(),
            lambda: ui.notify("late"),
            lambda: session.get_branch(),
            lambda: models.get_all(),
        ):
            with pytest.raises(StaleContextError, match="replaced or reloaded"):
                use()  # type: ignore[no-untyped-call]
        with pytest.raises(StaleContextError):
            await pi.exec("true")

    kept, extension = life(fresh=fresh)
    async with stage(tmp_path, says("Answer."), factories=[extension], session=NewSession()) as made:
        await made.prompt("/fresh seed")
        assert made.failures == []
        assert made.custom_entries("seed") == ["seed"]
        assert made.stored() == ["custom: carried over", "user: first in the new one", "assistant: Answer."]
        assert kept.log == [
            ("start", "startup", False),
            ("shutdown", "new", True),
            ("start", "new", True),
            ("with_session", True),
        ]
        assert len(kept.apis) == 2
    assert kept.log[-1] == ("shutdown", "quit", False)


async def test_fork_and_switch_open_other_sessions(tmp_path: Path) -> None:
    async def fork(pi: ExtensionAPI, args: str, ctx: CommandContext) -> None:
        branch = ctx.session_manager.get_branch()
        wanted = [entry.id for entry in branch if getattr(entry, "message", None) and entry.message.role == "user"]  # type: ignore[attr-defined]
        position = "at" if args == "at" else "before"
        target = branch[-1].id if args == "at" else wanted[-1]

        async def go_on(new: ReplacedSessionContext) -> None:
            kept.log.append(len(new.session_manager.build_session_context().messages))

        await ctx.fork(target, position, with_session=go_on)  # type: ignore[arg-type]

    async def switch(pi: ExtensionAPI, args: str, ctx: CommandContext) -> None:
        await ctx.switch_session(args)

    kept, extension = life(fork=fork, switch=switch)
    async with stage(tmp_path, says("One."), says("Two."), factories=[extension], session=NewSession()) as made:
        await made.prompt("first")
        await made.prompt("second")
        original = made.runtime.session.session.path
        await made.prompt("/fork before")
        assert made.stored() == ["user: first", "assistant: One."]
        await made.prompt(f"/switch {original}")
        assert len(made.stored()) == 4
        await made.prompt("/fork at")
        assert len(made.stored()) == 4
        assert made.runtime.session.session.path != original
        assert made.failures == []
        reasons = [(kind, reason) for entry in kept.log if isinstance(entry, tuple) for kind, reason, *_ in [entry]]
        assert reasons == [
            ("start", "startup"),
            ("shutdown", "fork"),
            ("start", "fork"),
            ("shutdown", "resume"),
            ("start", "resume"),
            ("shutdown", "fork"),
            ("start", "fork"),
        ]
        assert [entry for entry in kept.log if isinstance(entry, int)] == [2, 4]


async def test_handlers_can_keep_the_session(tmp_path: Path) -> None:
    asked: list[Any] = []

    async def leave(pi: ExtensionAPI, args: str, ctx: CommandContext) -> None:
        called: list[Any] = []
        outcomes = [
            await ctx.new_session(with_session=called.append),
            await ctx.switch_session("other.jsonl", with_session=called.append),
            await ctx.fork(ctx.session_manager.get_leaf_id() or "", "at", with_session=called.append),
        ]
        asked.append([outcome.cancelled for outcome in outcomes] + called)

    kept, extension = life(leave=leave)

    def guard(pi: ExtensionAPI) -> None:
        @pi.on("session_before_switch")
        def switch(event: BeforeSwitch, ctx: ExtensionContext) -> Cancel:
            asked.append((event.reason, event.target_session_file is not None))
            return Cancel()

        @pi.on("session_before_fork")
        def fork(event: BeforeFork, ctx: ExtensionContext) -> ForkDecision:
            asked.append(event.position)
            return ForkDecision(cancel=True)

        pi.on("session_before_fork", lambda event, ctx: asked.append("not asked any more"))  # type: ignore[arg-type,func-returns-value]

    async with stage(tmp_path, says("One."), factories=[extension, guard], session=NewSession()) as made:
        await made.prompt("first")
        await made.prompt("/leave")
        assert asked == [("new", False), ("resume", True), "at", [True, True, True]]
        assert kept.log == [("start", "startup", False)]


async def test_a_fork_can_keep_the_conversation(tmp_path: Path) -> None:
    def extension(pi: ExtensionAPI) -> None:
        pi.on("session_before_fork", lambda event, ctx: {"skipConversationRestore": True})

    async with stage(tmp_path, says("One."), says("Two."), factories=[extension], session=NewSession()) as made:
        await made.prompt("first")
        await made.prompt("second")
        (_, (entry, _)) = made.runtime.session.fork_points()
        assert await made.runtime.fork(entry) == "second"
        assert len(made.stored()) == 4


async def test_the_tree_is_navigated(tmp_path: Path) -> None:
    async def back(pi: ExtensionAPI, args: str, ctx: CommandContext) -> None:
        first = ctx.session_manager.get_entries()
        target = next(entry for entry in first if getattr(entry, "message", None))
        result = await ctx.navigate_tree(target.id, label="here")
        assert (result.cancelled, result.editor_text) == (False, "first")
        assert ctx.session_manager.get_label(target.id) == "here"

    _, extension = life(back=back)
    async with stage(tmp_path, says("One."), factories=[extension]) as made:
        await made.prompt("first")
        await made.prompt("/back")
        assert made.stored() == []
        assert made.failures == []


async def test_a_reload_loads_anew_and_keeps_session_flags_and_active_tools(tmp_path: Path) -> None:
    path = write(
        tmp_path / "home" / ".pi" / "agent" / "extensions" / "mine.py",
        """
        def extension(pi):
            pi.register_flag("level", type="string", default="low")
            @pi.tool
            def first() -> str:
                "First."
                return "1"
            @pi.command("reload")
            async def reload(args, ctx):
                await ctx.reload()
            @pi.command("level")
            def level(args, ctx):
                pi.append_entry("level", pi.get_flag("level"))
        """,
    )
    kept, extension = life()
    async with stage(tmp_path, says("One."), factories=[extension]) as made:
        made.runtime._host.flags["level"] = "high"
        made.runtime.session.harness.set_active_tools(["read", "first"])
        await made.prompt("hello")
        code = path.read_text().replace("def first()", "def first(x: int = 1)")
        second = "@pi.tool\n    def second() -> str:\n        'Second.'\n        return '2'\n    "
        path.write_text(code.replace('@pi.command("reload")', f'{second}@pi.command("reload")'))
        await made.prompt("/reload")
        assert made.failures == []
        await made.prompt("/level")
        assert made.custom_entries("level") == ["high"]
        assert made.stored() == ["user: hello", "assistant: One."]
        assert list(made.runtime.session.harness.active_tools) == ["read", "first", "second"]
        first = next(tool for tool in made.runtime.session.harness.tools if tool.name == "first")
        assert list(first.parameters["properties"]) == ["x"]
        assert kept.log == [("start", "startup", False), ("shutdown", "reload", False), ("start", "reload", False)]
        assert [command.name for command in made.runtime.session.commands.list()] == ["reload", "level"]
        with pytest.raises(StaleContextError):
            _ = kept.contexts[0].cwd


async def test_a_reload_is_refused_while_a_run_is_under_way(tmp_path: Path) -> None:
    async def reload(pi: ExtensionAPI, args: str, ctx: CommandContext) -> None:
        await ctx.reload()

    kept, extension = life(reload=reload)
    async with stage(tmp_path, hangs("Hm"), factories=[extension]) as made:
        run = asyncio.create_task(made.runtime.session.prompt("go"))
        await until(lambda: made.model.requests)
        await made.runtime.session.prompt("/reload")
        assert [(event, "under way" in text) for _, event, text in made.faults] == [("command:reload", True)]
        await made.runtime.session.abort()
        await run
        assert kept.log == [("start", "startup", False)]


async def test_a_command_that_a_message_calls_can_reload(tmp_path: Path) -> None:
    async def reload(pi: ExtensionAPI, args: str, ctx: CommandContext) -> None:
        await ctx.reload()

    kept, extension = life(reload=reload)

    def asker(pi: ExtensionAPI) -> None:
        pi.on("agent_settled", lambda event, ctx: pi.send_user_message("/reload", expand_prompt_templates=True))

    async with stage(tmp_path, says("One."), factories=[extension, asker]) as made:
        await made.prompt("go")
        assert ("start", "reload", False) in kept.log
        assert made.failures == []


async def test_no_part_of_an_extension_can_tear_the_program_down(tmp_path: Path) -> None:
    async def leave(*_: object) -> None:
        sys.exit(3)

    def extension(pi: ExtensionAPI) -> None:
        for name in ("session_start", "context", "tool_result"):
            pi.on(name, lambda event, ctx: sys.exit(3))  # type: ignore[call-overload]
            pi.on(name, leave)  # type: ignore[call-overload]
        pi.register_command("leave", leave)
        pi.events.on("leave", sys.exit)

        @pi.on("before_agent_start")
        def start(event: BeforeAgentStart, ctx: ExtensionContext) -> None:
            pi.spawn(leave(), name="leaving")
            pi.events.emit("leave", 3)

        @pi.tool
        def quit() -> str:
            """Leaves."""
            sys.exit(3)

    told = "it tried to end the program; ctx.shutdown() ends it in order"
    replies = says(call("quit")), says("Still here.")
    async with stage(tmp_path, *replies, factories=[extension]) as made:
        await made.prompt("/leave")
        await made.prompt("go")
        await until(lambda: "task:leaving" in [event for _, event, _ in made.faults])
        assert made.stored()[-2:] == [f"toolResult: {told}", "assistant: Still here."]
        assert {event for _, event, _ in made.faults} == {
            *("session_start", "command:leave", "context", "tool_result", "task:leaving", "events:leave")
        }
        assert {text for _, _, text in made.faults} == {told}


async def test_background_tasks_end_with_their_extension(tmp_path: Path) -> None:
    ended: list[str] = []

    async def wait(name: str) -> None:
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(name)

    async def fail() -> None:
        raise RuntimeError("went wrong")

    def extension(pi: ExtensionAPI) -> None:
        @pi.on("session_start")
        def start(event: SessionStart, ctx: ExtensionContext) -> None:
            pi.spawn(wait(event.reason), name="waiting")
            pi.spawn(fail(), name="failing")

    async with stage(tmp_path, factories=[extension]) as made:
        await until(lambda: made.faults)
        assert [(event, text) for _, event, text in made.faults] == [("task:failing", "went wrong")]
        await made.runtime.reload()
        assert ended == ["startup"]
        await asyncio.sleep(0.01)
        await made.runtime.new_session()
        assert ended == ["startup", "reload"]
        await asyncio.sleep(0.01)
    assert ended == ["startup", "reload", "new"]


async def test_the_bus_carries_words_between_extensions_until_they_end(tmp_path: Path) -> None:
    heard: list[Any] = []

    def listener(pi: ExtensionAPI) -> None:
        async def slowly(data: Any) -> None:
            await asyncio.sleep(0)
            heard.append(("async", data))

        def broken(data: Any) -> None:
            raise ValueError("deaf")

        pi.events.on("news", broken)
        pi.events.on("news", lambda data: heard.append(("sync", data)))
        pi.events.on("news", slowly)
        off = pi.events.on("news", lambda data: heard.append("never"))
        off()

    def speaker(pi: ExtensionAPI) -> None:
        pi.on("session_start", lambda event, ctx: pi.events.emit("news", event.reason))

    async with stage(tmp_path, factories=[listener, speaker]) as made:
        await until(lambda: len(heard) > 1)
        assert heard == [("sync", "startup"), ("async", "startup")]
        assert [(event, text) for _, event, text in made.faults] == [("events:news", "deaf")]
        await made.runtime.reload()
        await until(lambda: len(heard) > 3)
        assert heard[2:] == [("sync", "reload"), ("async", "reload")]


async def test_extensions_bring_resources(tmp_path: Path) -> None:
    folder = tmp_path / "more"
    write(folder / "skills" / "dig" / "SKILL.md", "---\nname: dig\ndescription: Digs.\n---\nDig deep.\n")
    write(folder / "prompts" / "ask.md", "Ask about $1")
    asked: list[str] = []

    def extension(pi: ExtensionAPI) -> None:
        @pi.on("resources_discover")
        def discover(event: ResourcesDiscover, ctx: ExtensionContext) -> ResourcePaths:
            asked.append(event.reason)
            return ResourcePaths(skill_paths=[str(folder / "skills")])

        pi.on("resources_discover", lambda event, ctx: {"promptPaths": [str(folder / "prompts")]})

    async with stage(tmp_path, says("One."), factories=[extension]) as made:
        assert [command.name for command in made.runtime.session.commands.list()] == ["ask", "skill:dig"]
        await made.prompt("/ask cats")
        assert made.stored()[0] == "user: Ask about cats"
        assert "Digs." in (made.model.requests[0].context.system_prompt or "")
        await made.runtime.reload()
        await made.runtime.new_session()
        assert [command.name for command in made.runtime.session.commands.list()] == ["ask", "skill:dig"]
        assert asked == ["startup", "reload", "startup"]


async def test_a_handler_that_waits_for_its_own_run_is_told_so(tmp_path: Path) -> None:
    def extension(pi: ExtensionAPI) -> None:
        @pi.on("turn_end")
        async def wait(event: Any, ctx: ExtensionContext) -> None:
            await ctx._seat().runtime.wait_idle()

    async with stage(tmp_path, says(call("bash", command="true")), says("Done."), factories=[extension]) as made:
        await made.prompt("go")
        assert {event for _, event, _ in made.faults} == {"turn_end"}
