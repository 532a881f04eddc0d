"""What extensions of pi's examples do, each written here in a few lines: so far the API reaches."""

from __future__ import annotations

import asyncio
import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from msgspec.structs import replace

from piolet.ext import (
    AgentEnd,
    AgentSettled,
    AgentStart,
    BeforeAgentStart,
    BeforeFork,
    BeforeSwitch,
    Cancel,
    CommandContext,
    ExtensionAPI,
    ExtensionContext,
    ForkDecision,
    InputEvent,
    InputResult,
    LocalEnvironment,
    ProviderStreamEvent,
    SessionStart,
    ShellSpawn,
    StartResult,
    ToolResult,
    ToolResultEvent,
    TurnEndEvent,
    TurnStart,
    UserBash,
    UserBashResult,
    create_bash_tool,
    create_edit_tool,
    create_read_tool,
    create_write_tool,
    format_size,
    text,
    text_of,
    truncate_head,
)
from tests.app.extensions.stage import Stage, stage
from tests.support.replies import openai
from tests.support.scripted_model import call, says
from tests.support.server import ScriptedServer
from tests.support.timing import until


def results(made: Stage) -> list[str]:
    """The results of tools that the last request carries."""
    messages = made.model.requests[-1].context.messages
    return [text_of(message.content) for message in messages if message.role == "toolResult"]


async def test_commands_of_the_model_are_changed_before_they_run(tmp_path: Path) -> None:
    def extension(pi: ExtensionAPI) -> None:
        def prepare(spawn: ShellSpawn) -> ShellSpawn:
            return replace(spawn, command=f"set -u\n{spawn.command}", env={**spawn.env, "GREETING": "hello"})

        @pi.on("session_start")
        def start(event: SessionStart, ctx: ExtensionContext) -> None:
            pi.register_tool(create_bash_tool(ctx.environment, spawn_hook=prepare))

    replies = (
        says(call("bash", command='echo "$GREETING"'), call("bash", id="c2", command="echo $UNSET")),
        says("Done."),
    )
    async with stage(tmp_path, *replies, factories=[extension]) as made:
        await made.prompt("go")
        first, second = results(made)
        assert first.strip() == "hello"
        assert "UNSET" in second


async def test_the_prompt_follows_what_it_is_built_from(tmp_path: Path) -> None:
    def extension(pi: ExtensionAPI) -> None:
        @pi.on("before_agent_start")
        def customize(event: BeforeAgentStart, ctx: ExtensionContext) -> StartResult:
            names = ", ".join(tool.name for tool in event.system_prompt_options.tools)
            return StartResult(system_prompt=f"{event.system_prompt}\nYou have {names}.")

        @pi.on("agent_start")
        def show(event: AgentStart, ctx: ExtensionContext) -> None:
            ctx.ui.set_status("prompt", ctx.get_system_prompt()[-len("You have read.") :])

    async with stage(tmp_path, says("Done."), factories=[extension]) as made:
        made.runtime.session.harness.set_active_tools(["read"])
        await made.prompt("go")
        assert (made.model.requests[0].context.system_prompt or "").endswith("\nYou have read.")
        assert ("status", "prompt", "You have read.") in made.ui.shown


async def test_what_the_provider_sends_is_written_down(tmp_path: Path) -> None:
    def extension(pi: ExtensionAPI) -> None:
        config = {"api": "openai-completions", "baseUrl": f"{server.url}/v1", "apiKey": "k", "models": [{"id": "m"}]}
        pi.register_provider("stub", config)
        pi.register_entry_renderer("wire", lambda entry, options, theme: theme.fg("dim", str(entry.data)))

        @pi.on("provider_stream_event")
        def note(event: ProviderStreamEvent, ctx: ExtensionContext) -> None:
            pi.append_entry("wire", {"provider": event.provider, "data": event.data})

    with ScriptedServer([openai("Hello.")]) as server:
        async with stage(tmp_path, factories=[extension], model="stub/m") as made:
            await made.prompt("go")
            told = made.custom_entries("wire")
            assert {entry["provider"] for entry in told} == {"stub"}
            assert "Hello." in json.dumps([entry["data"] for entry in told])
            assert made.failures == []


def git(folder: Path, *words: str) -> None:
    identity = ["-c", "user.name=Ada", "-c", "user.email=ada@localhost", "-c", "init.defaultBranch=main"]
    subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True)


async def test_a_conflict_is_handed_to_the_model_when_it_has_finished(tmp_path: Path) -> None:
    def extension(pi: ExtensionAPI) -> None:
        touched: set[str] = set()

        @pi.on("turn_start")
        def begin(event: TurnStart, ctx: ExtensionContext) -> None:
            touched.clear()

        @pi.on("tool_result")
        def note(event: ToolResultEvent, ctx: ExtensionContext) -> None:
            if event.tool_name == "write" and not event.is_error:
                touched.add(str(event.input["path"]))

        @pi.on("agent_end")
        def end(event: AgentEnd, ctx: ExtensionContext) -> None:
            pi.append_entry("ended", len(event.messages))

        @pi.on("agent_settled")
        async def merge(event: AgentSettled, ctx: ExtensionContext) -> None:
            merged = await pi.exec("git", ["merge", "other"], cwd=ctx.cwd)
            if "CONFLICT" in merged.stdout:
                pi.send_user_message(f"Resolve this:\n{merged.stdout}")

    work = tmp_path / "work"
    work.mkdir()
    git(work, "init", "-q")
    (work / "a.txt").write_text("base\n")
    git(work, "add", "-A")
    git(work, "commit", "-qm", "Base")
    for branch, words in (("other", "theirs\n"), ("main", "ours\n")):
        git(work, "checkout", "-q", *([] if branch == "main" else ["-b"]), branch)
        (work / "a.txt").write_text(words)
        git(work, "commit", "-qam", branch)
    async with stage(tmp_path, says("Done."), says("Resolved."), factories=[extension]) as made:
        await made.prompt("go")
        assert "CONFLICT" in text_of(made.model.requests[1].context.messages[-1].content)
        assert made.custom_entries("ended") == [2, 2]


async def test_tools_and_the_users_commands_act_on_another_machine(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "far.txt").write_text("far away\n")
    there = LocalEnvironment(str(tmp_path / "far"))

    def extension(pi: ExtensionAPI) -> None:
        pi.register_flag("far", type="boolean", default=True)

        @pi.on("session_start")
        def start(event: SessionStart, ctx: ExtensionContext) -> None:
            if pi.get_flag("far"):
                for create in (create_read_tool, create_write_tool, create_edit_tool, create_bash_tool):
                    pi.register_tool(create(there))

        @pi.on("user_bash")
        def elsewhere(event: UserBash, ctx: ExtensionContext) -> UserBashResult:
            return UserBashResult(environment=there)

        @pi.on("before_agent_start")
        def tell(event: BeforeAgentStart, ctx: ExtensionContext) -> StartResult:
            return StartResult(system_prompt=event.system_prompt.replace(ctx.cwd, f"{there.cwd} (far away)"))

    replies = says(call("read", path="far.txt"), call("write", id="c2", path="new.txt", content="new")), says("Done.")
    async with stage(tmp_path, *replies, factories=[extension]) as made:
        await made.prompt("go")
        assert results(made)[0] == "far away\n"
        assert (tmp_path / "far" / "new.txt").read_text() == "new"
        assert "(far away)" in (made.model.requests[0].context.system_prompt or "")
        assert (await made.runtime.session.bash("ls")).output.split() == ["far.txt", "new.txt"]
        assert made.failures == []


async def test_programs_run_inside_of_a_prompt(tmp_path: Path) -> None:
    def extension(pi: ExtensionAPI) -> None:
        @pi.on("input")
        async def expand(event: InputEvent, ctx: ExtensionContext) -> InputResult | None:
            before, mark, rest = event.text.partition("!{")
            if not mark or event.streaming_behavior is not None:
                return None
            command, _, after = rest.partition("}")
            done = await pi.exec("sh", ["-c", command], cwd=ctx.cwd)
            return InputResult(action="transform", text=before + done.stdout.strip() + after)

    async with stage(tmp_path, says("Done."), factories=[extension]) as made:
        await made.prompt("There are !{echo $((1 + 2))} files")
        assert text_of(made.model.requests[0].context.messages[-1].content) == "There are 3 files"


async def test_the_title_turns_while_a_run_goes_on(tmp_path: Path) -> None:
    titles: list[str] = []

    def extension(pi: ExtensionAPI) -> None:
        async def turn(ctx: ExtensionContext) -> None:
            for place in range(1_000_000):
                ctx.ui.set_title(f"{'|/-'[place % 3]} {pi.get_session_name() or 'piolet'}")
                await asyncio.sleep(0.01)

        tasks: list[asyncio.Task[None]] = []
        pi.on("agent_start", lambda event, ctx: tasks.append(pi.spawn(turn(ctx))))

        @pi.on("agent_settled")
        def end(event: AgentSettled, ctx: ExtensionContext) -> None:
            tasks.pop().cancel()
            ctx.ui.set_title("piolet")

    async with stage(tmp_path, says("Done.", delay=0.05), factories=[extension]) as made:
        made.ui.set_title = titles.append  # type: ignore[method-assign]
        await made.prompt("go")
        assert titles[:1] == ["| piolet"]
        assert titles[-1] == "piolet"
        assert made.failures == []


@dataclass
class Verdict:
    good: bool
    reason: str


async def test_an_answer_with_a_structure_ends_the_run(tmp_path: Path) -> None:
    def extension(pi: ExtensionAPI) -> None:
        schema = {"type": "object", "properties": {"good": {"type": "boolean"}}, "required": ["good"]}

        @pi.tool(output_schema=schema)
        def answer(verdict: Verdict) -> ToolResult:
            """Give the final answer."""
            return ToolResult(
                [text("Thank you.")],
                structured_content={"good": verdict.good, "reason": verdict.reason},
                terminate=True,
            )

    reply = says(call("answer", verdict={"good": True, "reason": "It is short."}))
    async with stage(tmp_path, reply, factories=[extension]) as made:
        await made.prompt("go")
        assert len(made.model.requests) == 1
        (end,) = [event for event in made.events if event.type == "tool_execution_end"]
        assert end.result.structured_content == {"good": True, "reason": "It is short."}


async def test_a_full_window_is_compacted_and_widgets_stand_where_they_are_put(tmp_path: Path) -> None:
    def extension(pi: ExtensionAPI) -> None:
        @pi.on("turn_end")
        def watch(event: TurnEndEvent, ctx: ExtensionContext) -> None:
            usage = ctx.get_context_usage()
            if usage is not None and (usage.percent or 0) > 10:
                ctx.ui.set_widget("full", [f"{usage.tokens} tokens"], placement="below_editor")
                ctx.compact("Be brief", on_complete=lambda done: pi.append_entry("compacted", done.summary))

    home = tmp_path / "home" / ".pi" / "agent"
    home.mkdir(parents=True)
    (home / "settings.json").write_text('{"compaction": {"keepRecentTokens": 1}}')
    replies = says("First."), says("Second.", tokens=(20_000, 10)), says("The summary."), says("The summary.")
    async with stage(tmp_path, *replies, factories=[extension]) as made:
        await made.prompt("one")
        await made.prompt("two")
        await until(lambda: made.custom_entries("compacted"))
        assert made.ui.shown == [("widget", "full", ["20010 tokens"])]
        assert "The summary." in made.custom_entries("compacted")[0]
        assert made.failures == []


async def test_long_output_is_cut_and_kept_in_a_file(tmp_path: Path) -> None:
    def extension(pi: ExtensionAPI) -> None:
        @pi.tool
        async def numbers(count: Annotated[int, "how many"]) -> ToolResult:
            """List numbers."""
            whole = "\n".join(map(str, range(count)))
            cut = truncate_head(whole, max_lines=10)
            if cut.truncated:
                path = tmp_path / "whole.txt"
                path.write_text(whole)
                return ToolResult([text(f"{cut.content}\n[{format_size(cut.total_bytes)} in {path}]")])
            return ToolResult([text(whole)])

    async with stage(tmp_path, says(call("numbers", count=600)), says("Done."), factories=[extension]) as made:
        await made.prompt("go")
        assert results(made) == [f"{chr(10).join(map(str, range(10)))}\n[2.2KB in {tmp_path / 'whole.txt'}]"]


async def test_work_that_is_not_committed_keeps_the_session(tmp_path: Path) -> None:
    def extension(pi: ExtensionAPI) -> None:
        async def dirty(ctx: ExtensionContext, what: str) -> bool:
            status = await pi.exec("git", ["status", "--porcelain"], cwd=ctx.cwd)
            return bool(status.stdout) and await ctx.ui.select(f"Uncommitted changes: {what}?", ["yes", "no"]) != "yes"

        @pi.on("session_before_switch")
        async def switch(event: BeforeSwitch, ctx: ExtensionContext) -> Cancel:
            return Cancel(await dirty(ctx, event.reason))

        @pi.on("session_before_fork")
        async def fork(event: BeforeFork, ctx: ExtensionContext) -> ForkDecision:
            return ForkDecision(cancel=await dirty(ctx, "fork"))

        @pi.command("mark")
        def mark(args: str, ctx: CommandContext) -> None:
            leaf = ctx.session_manager.get_leaf_id()
            assert leaf is not None
            pi.set_label(leaf, args)
            listed = [entry for entry in ctx.session_manager.get_entries() if ctx.session_manager.get_label(entry.id)]
            ctx.ui.notify(f"{len(listed)} marked, /{', /'.join(command.name for command in pi.get_commands())}")

    (tmp_path / "work").mkdir()
    git(tmp_path / "work", "init", "-q")
    (tmp_path / "work" / "new.txt").write_text("x")
    async with stage(tmp_path, says("Hi."), factories=[extension], answers=["no", "no", "yes"]) as made:
        await made.prompt("hello")
        await made.prompt("/mark good")
        assert made.ui.shown == [("notify", "1 marked, /mark", None)]
        first = made.runtime.session.session.id
        assert not await made.runtime.new_session()
        await made.runtime.clone()
        assert made.runtime.session.session.id == first
        assert await made.runtime.new_session()
        assert made.ui.shown[-1] == ("select", "Uncommitted changes: new?", "yes", "no")
