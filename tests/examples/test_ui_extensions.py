"""Each example extension that draws on the screen, driven as a user drives it."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.modes.interactive.desk import Desk, opened
from tests.support.run import ROOT
from tests.support.scripted_model import Reply, call, says

STAND_IN = """
import asyncio
from pathlib import Path
from piolet.ext import OnUpdate, ToolContext, ToolResult, text

def run(agent, task, state):
    return {"agent": agent, "task": task, "state": state, "turns": 1, "calls": 2}

def extension(pi):
    @pi.tool(description="stands in for the agents")
    async def subagent(ctx: ToolContext, on_update: OnUpdate) -> ToolResult:
        runs = [run("scout", "find it", "done"), run("worker", "change it", "running")]
        while not (Path(ctx.cwd) / "go").exists():
            on_update(ToolResult([text("at work")], details={"runs": runs}))
            await asyncio.sleep(0.02)
        return ToolResult([text("done")])
"""
EXAMPLES = ROOT / "examples" / "extensions"


@asynccontextmanager
async def with_example(folder: Path, *names: str, replies: tuple[Reply, ...] = ()) -> AsyncIterator[Desk]:
    place = folder / "home" / ".pi" / "agent" / "extensions"
    place.mkdir(parents=True)
    for name in names:
        shutil.copy(EXAMPLES / f"{name}.py", place)
    async with opened(folder, *replies, size=(100, 40)) as desk:
        yield desk


def repository(folder: Path, *names: str) -> None:
    """Make a repository that knows the files."""
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    for argv in (["init", "-q"], ["add", "."]):
        subprocess.run(["git", *argv], cwd=folder, check=True)


async def command(desk: Desk, text: str) -> None:
    await desk.paste(text)
    desk.key("escape", "enter")


async def test_the_questionnaire_puts_all_answers_into_the_editor(tmp_path: Path) -> None:
    async with with_example(tmp_path, "ui_questionnaire") as desk:
        await command(desk, "/questionnaire")
        await desk.see("Rust")
        desk.key("up", "enter")
        await desk.see("which one?")
        desk.type("zig")
        desk.key("enter")
        await desk.see("Write them first")
        desk.key("enter")
        await desk.until(lambda: desk.draft == "- Language: zig\n- Tests: Write them first")


async def test_the_status_line_counts_turns(tmp_path: Path) -> None:
    async with with_example(tmp_path, "ui_status_line", replies=(says("hello"),)) as desk:
        await desk.see("ready, turns: 0")
        await desk.ask("hi", "hello")
        await desk.see("ready, turns: 1")


async def test_the_footer_is_replaced_and_comes_back(tmp_path: Path) -> None:
    async with with_example(tmp_path, "ui_footer") as desk:
        await command(desk, "/footer")
        await desk.see("cwd | scripted-1")
        await command(desk, "/footer")
        await desk.see("(auto)")


async def test_the_header_is_the_mountain_also_in_the_next_session(tmp_path: Path) -> None:
    async with with_example(tmp_path, "ui_header") as desk:
        await desk.see("/\\/  \\/\\")
        await desk.not_see("Type to the model")
        await command(desk, "/new")
        await desk.pilot.pause()
        await desk.see("/\\/  \\/\\")


async def test_the_modal_editor_moves_and_deletes_by_letters(tmp_path: Path) -> None:
    async with with_example(tmp_path, "ui_modal_editor", replies=(says("well done"),)) as desk:
        await desk.see("INSERT")
        desk.type("abcd")
        desk.key("escape")
        await desk.see("NORMAL")
        desk.type("0lxi")
        await desk.see("INSERT")
        desk.type("B")
        await desk.until(lambda: desk.draft == "aBcd")
        desk.key("enter")
        await desk.see("well done")


async def test_a_reminder_is_drawn_in_its_own_frame(tmp_path: Path) -> None:
    async with with_example(tmp_path, "ui_message_renderer") as desk:
        await command(desk, "/remind be brief")
        await desk.see("REMINDER be brief")


async def test_the_plan_stands_above_and_its_progress_below_the_editor(tmp_path: Path) -> None:
    async with with_example(tmp_path, "ui_widgets") as desk:
        await command(desk, "/plan read, write")
        await desk.see("░░ 0/2")
        await command(desk, "/done")
        await desk.see("█░ 1/2")
        await desk.see("☑ read")
        await command(desk, "/plan")
        await desk.not_see("☑ read")


async def test_the_snake_moves_by_itself_eats_and_ends_at_the_wall(tmp_path: Path) -> None:
    async with with_example(tmp_path, "ui_snake") as desk:
        await command(desk, "/snake")
        await desk.see("arrows steer")
        await desk.see("Score 1")
        await desk.see("GAME OVER")
        desk.key("q")
        await desk.see("points")
        await desk.not_see("GAME OVER")


async def test_the_picker_floats_and_puts_the_chosen_file_into_the_prompt(tmp_path: Path) -> None:
    repository(tmp_path / "cwd", "docs/guide.md", "src/main.py", "src/other.py")
    async with with_example(tmp_path, "ui_overlay_picker") as desk:
        await command(desk, "/pick")
        await desk.see("│ > ")
        assert "╭──" in desk.text
        assert sum(row.startswith("──────") for row in desk.rows) == 2  # the editor is there still
        desk.type("src")
        await desk.not_see("docs/guide.md")
        desk.key("down", "enter")
        await desk.until(lambda: desk.draft == "@src/other.py ")
        await desk.not_see("╭──")


async def test_the_progress_of_agents_stands_above_the_editor_while_they_work(tmp_path: Path) -> None:
    place = tmp_path / "home" / ".pi" / "agent" / "extensions"
    place.mkdir(parents=True)
    (place / "stand_in.py").write_text(STAND_IN)
    shutil.copy(EXAMPLES / "ui_agents_progress.py", place)
    async with opened(tmp_path, says(call("subagent")), says("all done"), size=(100, 40)) as desk:
        await desk.submit("go")
        await desk.see("Agents ━━ 1/2")
        await desk.see("✓ scout: find it")
        await desk.see("▸ worker: change it")
        (tmp_path / "cwd" / "go").touch()
        await desk.see("all done")
        await desk.not_see("Agents ━━")


async def test_tools_take_one_line_and_more_when_unfolded(tmp_path: Path) -> None:
    replies = (says(call("bash", command="echo from the tool")), says("all done"))
    async with with_example(tmp_path, "ui_minimal_tools", replies=replies) as desk:
        await desk.ask("go", "all done")
        await desk.see("✓ bash echo from the tool")
        assert "Took" not in desk.text
        assert desk.text.count("from the tool") == 1
        desk.key("ctrl+o")
        await desk.until(lambda: desk.text.count("from the tool") == 2)


async def test_numbers_behind_a_hash_are_completed_with_issues(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "bin" / "gh"
    program.parent.mkdir()
    issues = '[{"number": 7, "title": "It crashes"}, {"number": 8, "title": "It is slow"}]'
    program.write_text(f"#!/bin/sh\necho '{issues}'\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    async with with_example(tmp_path, "ui_issue_completion") as desk:
        desk.type("see #slow")
        await desk.see("It is slow")
        desk.key("tab")
        await desk.until(lambda: desk.draft == "see #8 ")


async def test_a_ball_bounces_while_the_model_works(tmp_path: Path) -> None:
    gate = asyncio.Event()
    async with with_example(tmp_path, "ui_working", replies=(says("done", gate=gate),)) as desk:
        await desk.submit("go")
        await desk.see("Turn 1")
        await desk.see("(  ●   )")
        gate.set()
        await desk.see("done")


async def test_all_examples_live_together(tmp_path: Path) -> None:
    names = sorted(path.stem for path in EXAMPLES.glob("ui_*.py"))
    async with with_example(tmp_path, *names, replies=(says("together"),)) as desk:
        await desk.see("INSERT")
        await desk.ask("hi", "together")
        await desk.see("turns: 1")
        assert "Extension error" not in desk.text
