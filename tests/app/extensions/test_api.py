"""What else the API gives: programs, models, providers, the session, the modes' answers, what a screen will use."""

from __future__ import annotations

import asyncio
import json
import os
import signal as signals
from pathlib import Path
from typing import Any

import pytest

from piolet.app.extensions.api import ExtensionAPI
from piolet.app.extensions.contexts import CommandContext
from piolet.app.extensions.definitions import ContextUsage, MarkdownContext
from piolet.app.extensions.drawing import ToolSlots
from piolet.app.extensions.errors import CompletionFailed
from piolet.app.extensions.programs import run_program
from piolet.app.extensions.ui import NullUI
from piolet.base.abort import AbortController, Aborted
from piolet.harness.environments.local import LocalEnvironment
from piolet.harness.environments.memory import MemoryEnvironment
from piolet.llm.messages import UserMessage
from piolet.tui.keys import normalize
from tests.app.extensions.stage import Stage, stage
from tests.support.scripted_model import MODEL, ScriptedModel, fails, hangs, says
from tests.support.timing import until

# ---- programs


async def test_a_program_is_run_without_a_shell_where_the_session_is(tmp_path: Path) -> None:
    here = LocalEnvironment(str(tmp_path))
    done = await run_program(here, "sh", ["-c", "pwd; echo $1; echo err >&2; exit 3", "x", "a b; c"])
    assert (done.stdout, done.stderr, done.code) == (f"{tmp_path}\na b; c\n", "err\n", 3)
    assert not done.killed
    assert (await run_program(here, "pwd", cwd="/")).stdout == "/\n"


async def test_a_missing_program_is_told_and_never_raises(tmp_path: Path) -> None:
    done = await run_program(LocalEnvironment(str(tmp_path)), "no-such-program-here")
    assert (done.code, done.stdout, done.killed) == (1, "", False)
    assert "no-such-program-here" in done.stderr
    assert (await run_program(MemoryEnvironment(), "true")).code == 1


async def test_a_death_by_signal_is_128_and_its_number(tmp_path: Path) -> None:
    done = await run_program(LocalEnvironment(str(tmp_path)), "sh", ["-c", "kill -9 $$"])
    assert (done.code, done.killed) == (128 + signals.SIGKILL, False)


async def test_a_timeout_asks_first_and_then_kills(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("piolet.app.extensions.programs.GRACE", 30)
    here = LocalEnvironment(str(tmp_path))
    polite = await run_program(here, "sh", ["-c", "trap 'echo bye; exit 0' TERM; sleep 60 & wait"], timeout=1.5)
    assert (polite.stdout, polite.killed, polite.code) == ("bye\n", True, 143)
    monkeypatch.setattr("piolet.app.extensions.programs.GRACE", 0.3)
    stubborn = await run_program(here, "sh", ["-c", "trap '' TERM; while :; do sleep 0.1; done"], timeout=0.2)
    assert (stubborn.killed, stubborn.code) == (True, 128 + signals.SIGKILL)


async def test_an_abort_ends_a_program(tmp_path: Path) -> None:
    controller = AbortController()
    asyncio.get_running_loop().call_later(0.1, controller.abort)
    done = await run_program(LocalEnvironment(str(tmp_path)), "sleep", ["60"], signal=controller.signal)
    assert (done.killed, done.code) == (True, 128 + signals.SIGTERM)


async def test_a_cut_output_never_counts_as_success(tmp_path: Path) -> None:
    done = await run_program(LocalEnvironment(str(tmp_path)), "yes", max_buffer=10_000)
    assert (len(done.stdout), done.truncated) == (10_000, True)
    assert done.code != 0
    small = await run_program(LocalEnvironment(str(tmp_path)), "printf", ["12345678"], max_buffer=4)
    assert (small.stdout, small.truncated, small.code) == ("1234", True, 1) or small.killed


# ---- models


async def as_command(tmp_path: Path, work: Any, *replies: Any, **options: Any) -> Stage:
    """Open a session, run ``work(pi, ctx)`` as a command and raise what it raises."""
    given: list[Any] = []

    def extension(pi: ExtensionAPI) -> None:
        @pi.command("work")
        async def run(args: str, ctx: CommandContext) -> None:
            try:
                given.append(await work(pi, ctx))
            except BaseException as error:
                given.append(error)
                raise

    async with stage(tmp_path, *replies, factories=[extension], **options) as made:
        await made.prompt("/work")
        if isinstance(given[0], BaseException):
            raise given[0]
    return made


async def test_extensions_ask_models_beside_the_conversation(tmp_path: Path) -> None:
    async def work(pi: ExtensionAPI, ctx: CommandContext) -> None:
        registry = ctx.model_registry
        model = registry.find("test", "scripted-1")
        assert model == ctx.model == MODEL
        assert model in registry.get_available()
        assert model in registry.get_all()
        assert registry.get_provider("test") is not None
        assert registry.get_error() is None
        assert registry.has_configured_auth(model)
        assert not registry.is_using_oauth(model)
        assert registry.get_provider_auth_status("test").configured
        reply = await registry.complete(model, "One question", system_prompt="Be brief", max_tokens=9)
        assert reply.text == "An answer."
        with pytest.raises(CompletionFailed, match="overloaded"):
            await registry.complete(model, [UserMessage("two", 1)])
        controller = AbortController()
        asyncio.get_running_loop().call_later(0.05, controller.abort)
        with pytest.raises(Aborted):
            await registry.complete(model, "three", signal=controller.signal)
        pieces = [event.type async for event in registry.stream(model, "four")]
        assert pieces[0] == "start"
        assert pieces[-1] == "done"

    made = await as_command(tmp_path, work, says("An answer."), fails("overloaded"), hangs("Hm"), says("x"))
    first = made.model.requests[0]
    assert (first.context.system_prompt, first.options.max_tokens) == ("Be brief", 9)


async def test_providers_come_with_their_extension_and_go_with_it(tmp_path: Path) -> None:
    model = ScriptedModel(says("From the new one."))

    def extension(pi: ExtensionAPI) -> None:
        pi.register_provider("early", models=[_of("early")], stream=model)
        pi.register_provider("broken", {"models": [{"id": "x"}]})

        @pi.command("late")
        async def late(args: str, ctx: CommandContext) -> None:
            pi.register_provider("late", models=[_of("late")], stream=model)
            assert ctx.model_registry.find("late", "scripted-1") is not None
            assert await pi.set_model(_of("late"))
            pi.unregister_provider("early")
            assert ctx.model_registry.find("early", "scripted-1") is None

    async with stage(tmp_path, factories=[extension], model="early/scripted-1") as made:
        assert [event for _, event, _ in made.faults] == ["register_provider"]
        assert made.runtime.session.model == _of("early")
        await made.prompt("/late")
        await made.prompt("go")
        assert made.stored() == ["user: go", "assistant: From the new one."]
        models = made.runtime.services.models
        await made.runtime.reload()
        assert models.find("late", "scripted-1") is None
        assert models.find("early", "scripted-1") is not None
    assert len(made.failures) == 2


def _of(provider: str) -> Any:
    from msgspec.structs import replace

    return replace(MODEL, provider=provider)


# ---- the session and the settings


async def test_contexts_tell_of_the_session(tmp_path: Path) -> None:
    async def work(pi: ExtensionAPI, ctx: CommandContext) -> None:
        assert (ctx.mode, ctx.has_ui, ctx.is_idle(), ctx.has_pending_messages()) == ("print", True, True, False)
        assert Path(ctx.cwd) == tmp_path / "work"
        assert ctx.environment.cwd == ctx.cwd
        assert ctx.scoped_models == []
        assert ctx.is_project_trusted()
        assert isinstance(ctx.get_context_usage(), ContextUsage)
        assert "Current working directory" in ctx.get_system_prompt()
        assert ctx.get_system_prompt_options().cwd == ctx.cwd
        view = ctx.session_manager
        assert Path(view.get_cwd()) == tmp_path / "work"
        assert view.get_session_file() is None
        assert view.get_session_dir().startswith(str(tmp_path / "home"))
        assert view.get_header().id == view.get_session_id()
        assert [node.id for node in view.get_tree()] == [view.get_entries()[0].id]
        assert view.get_branch(view.get_entries()[0].id) == view.get_entries()[:1]
        assert view.build_context_entries() == view.get_branch()
        settings = pi.get_settings()
        assert settings.compaction.keep_recent_tokens == 77
        settings.user["compaction"]["keepRecentTokens"] = 1
        assert pi.get_settings().compaction.keep_recent_tokens == 77
        assert [command.name for command in pi.get_commands()] == ["work"]
        assert {tool.name for tool in pi.get_all_tools()} >= {"read", "grep"}
        assert (ctx.thinking_level, pi.get_thinking_level()) == ("off", "off")

    settings = tmp_path / "home" / ".pi" / "agent" / "settings.json"
    settings.parent.mkdir(parents=True)
    settings.write_text(json.dumps({"compaction": {"keepRecentTokens": 77}}))
    made = await as_command(tmp_path, work)
    assert made.failures == []


async def test_a_compaction_goes_on_in_the_background(tmp_path: Path) -> None:
    told: list[Any] = []

    def extension(pi: ExtensionAPI) -> None:
        pi.register_command("good", lambda args, ctx: ctx.compact("dwell", told.append, told.append))
        pi.register_command("loud", lambda args, ctx: ctx.compact())

    settings = tmp_path / "home" / ".pi" / "agent" / "settings.json"
    settings.parent.mkdir(parents=True)
    settings.write_text(json.dumps({"compaction": {"keepRecentTokens": 1}}))
    replies = says("One."), says("Two."), says("A summary."), says("A summary.")
    async with stage(tmp_path, *replies, factories=[extension]) as made:
        await made.prompt("/good")
        assert "Nothing to compact" in str(told[0])
        await made.prompt("/loud")
        assert [event for _, event, _ in made.faults] == ["compact"]
        await made.prompt("first")
        await made.prompt("second")
        await made.prompt("/good")
        assert told[1].summary.endswith("A summary.")


async def test_where_nobody_is_every_question_has_an_answer(tmp_path: Path) -> None:
    def extension(pi: ExtensionAPI) -> None:
        @pi.command("ask")
        async def ask(args: str, ctx: CommandContext) -> None:
            ui = ctx.ui
            answers = [
                await ui.select("a", ["b"]),
                await ui.confirm("a", "b"),
                await ui.input("a"),
                await ui.editor("a"),
                await ui.custom(lambda *_: None),
                ui.get_editor_text(),
                ui.get_all_themes(),
                ui.get_theme("dark"),
                ui.set_theme("dark").success,
                ui.get_tools_expanded(),
                ui.get_editor_component(),
                ctx.has_ui,
            ]
            for show in (ui.notify, ui.set_title, ui.set_editor_text, ui.paste_to_editor):
                show("x")
            ui.set_status("k", None)
            ui.set_widget("k", ["a"], placement="below_editor")
            assert ui.theme.bold("x") in ("x", "\x1b[1mx\x1b[0m")
            pi.append_entry("answers", answers)

    async with stage(tmp_path, factories=[extension]) as made:
        made.runtime.bind(NullUI())
        await made.prompt("/ask")
        assert made.failures == []
        expected = [None, False, None, None, None, "", [], None, False, False, None, False]
        assert made.custom_entries("answers") == [expected]


# ---- what a screen will use


async def test_what_is_registered_for_a_screen_is_found_by_it(tmp_path: Path) -> None:
    pressed: list[str] = []

    def first(pi: ExtensionAPI) -> None:
        @pi.tool(render_call=lambda *_: "own call")
        def mine() -> str:
            """Mine."""
            return ""

        pi.register_markdown_transformer(lambda text, ctx: text.upper(), message_types=["assistant"])
        pi.register_markdown_transformer(lambda text, ctx: text + 1)  # type: ignore[operator]
        pi.register_tool_renderer(lambda name, next: {"call": "special"} if name == "read" else None)
        pi.register_tool_renderer(lambda name, next: 1 / 0 if name == "bash" else next())
        pi.register_shortcut("ctrl+alt+p", lambda ctx: pressed.append("first"))
        pi.register_shortcut("escape", lambda ctx: pressed.append("never"))
        pi.register_shortcut("ctrl+alt+x", lambda ctx: 1 / 0)

    def second(pi: ExtensionAPI) -> None:
        async def press(ctx: Any) -> None:
            pressed.append(ctx.cwd)

        pi.register_shortcut("ctrl+alt+p", press)
        pi.register_markdown_transformer(lambda text, ctx: f"{text}!")

    async with stage(tmp_path, factories=[first, second]) as made:
        drawing = made.runtime.extensions.drawing
        for _ in range(2):
            assert drawing.transform_markdown("text", MarkdownContext("assistant")) == "TEXT!"
            assert drawing.transform_markdown("text", MarkdownContext("user")) == "text!"
            assert drawing.tool_slots("mine").call is not None
            assert drawing.tool_slots("read").call == "special"
            assert drawing.tool_slots("bash") == drawing.tool_slots("grep") == ToolSlots()
        assert [event for _, event, _ in made.faults] == ["markdown transformer", "tool renderer"]
        made.failures.clear()
        keys = made.runtime.extensions.shortcuts
        assert set(keys) == {normalize("ctrl+alt+p"), normalize("ctrl+alt+x")}
        assert [event for _, event, _ in made.faults] == ["register_shortcut"] * 2
        for press in keys.values():
            press()
        await until(lambda: pressed and made.faults)
        assert pressed == [str(tmp_path / "work")]
        assert made.faults[-1][1] == "shortcut:ctrl+alt+x"


def test_the_helpers_are_there() -> None:
    from piolet import ext

    assert ext.parse_frontmatter("---\na: 1\n---\nbody") == ({"a": 1}, "body")
    assert ext.format_size(2048) == "2.0KB"
    assert ext.truncate_head("a\nb\nc", 2).content == "a\nb"
    assert ext.conversation_text([UserMessage("hi", 1)]) == "[User]: hi"
    os.environ.setdefault("HOME", "/")
    assert ext.get_agent_dir().endswith("agent") or "PI_CODING_AGENT_DIR" in os.environ
    assert ext.text("a").text == "a"
    for name in ("read", "bash", "edit", "write", "grep", "find", "ls"):
        tool = getattr(ext, f"create_{name}_tool_definition")(MemoryEnvironment())
        assert (tool.name, type(tool)) == (name, ext.ToolDefinition)
