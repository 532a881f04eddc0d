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
from tests.support.scripted_model import Reply, call, says, thinking

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


async def test_the_model_asks_the_user(tmp_path: Path) -> None:
    asks = call("ask_user", question="Which one?", options=["this", "that"])
    async with with_example(tmp_path, "ui_questionnaire", replies=(says(asks), says("Thanks."))) as desk:
        await desk.submit("go")
        await desk.see("→ this")
        desk.key("down", "enter")
        await desk.see("Thanks.")
        await desk.see("✓ that")


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
    replies = (says(thinking("hm"), "done", gate=gate),)
    async with with_example(tmp_path, "ui_working", replies=replies) as desk:
        await desk.submit("go")
        await desk.see("Turn 1")
        await desk.see("(  ●   )")
        gate.set()
        await desk.see("done")
        desk.key("ctrl+t")
        await desk.see("Pondering...")


async def test_the_tools_that_are_switched_off_belong_to_the_branch(tmp_path: Path) -> None:
    async with with_example(tmp_path, "ui_tools", replies=(says("hello"),)) as desk:
        await desk.ask("hi", "hello")
        await command(desk, "/tools")
        await desk.see("→ read")
        desk.key("enter", "down", "enter", "escape")
        await desk.see("Tools: edit, write")
        session = desk.runtime.session.session.path
        assert session is not None
        await command(desk, "/new")
        await desk.until(lambda: desk.runtime.session.session.path != session)
        assert "read" in desk.runtime.session.harness.active_tools
    async with opened(tmp_path, session=Path(session)) as desk:
        assert list(desk.runtime.session.harness.active_tools) == ["edit", "write"]


async def test_the_questions_of_an_answer_are_put_into_the_editor(tmp_path: Path) -> None:
    replies = (says("Fine."), says("NONE"), says("- Why?\n* When?"))
    async with with_example(tmp_path, "ui_qna", replies=replies) as desk:
        await command(desk, "/qna")
        await desk.see("There is no answer yet")
        await desk.ask("hi", "Fine.")
        await command(desk, "/qna")
        await desk.see("It asks nothing")
        await command(desk, "/qna")
        await desk.until(lambda: desk.draft == "Q: Why?\nA: \nQ: When?\nA: ")


async def test_the_summary_is_shown_and_the_conversation_does_not_hear_of_it(tmp_path: Path) -> None:
    replies = (says("Fine."), says("It is *fine*."), says("Go on."))
    async with with_example(tmp_path, "ui_summarize", replies=replies) as desk:
        await command(desk, "/summarize")
        await desk.see("There is nothing to summarize yet")
        await desk.ask("hi", "Fine.")
        await command(desk, "/summarize")
        await desk.see("It is fine.")
        desk.key("escape")
        await desk.not_see("It is fine.")
        await desk.ask("more", "Go on.")
        assert "It is" not in str(desk.model.requests[-1].context.messages)


async def test_a_program_that_needs_no_terminal_runs_as_usual(tmp_path: Path) -> None:
    async with with_example(tmp_path, "ui_interactive_shell") as desk:
        await desk.paste("!echo 'plain words' | cat")
        desk.key("enter")
        await desk.until(lambda: desk.rows.count(" plain words") == 1)
        assert "it ran on the terminal" not in desk.text


async def test_the_rainbow_is_there_until_it_is_taken_back(tmp_path: Path) -> None:
    async with with_example(tmp_path, "ui_rainbow_editor") as desk:
        await command(desk, "/rainbow")
        await desk.until(lambda: desk.face.surface.has("editor"))
        desk.type("a rainbow")
        await desk.see("\na rainbow")
        desk.key("ctrl+u")
        await command(desk, "/rainbow")
        await desk.until(lambda: not desk.face.surface.has("editor"))


async def test_the_border_tells_what_the_footer_did(tmp_path: Path) -> None:
    gate = asyncio.Event()
    async with with_example(tmp_path, "ui_border_editor", replies=(says("done", gate=gate),)) as desk:
        await command(desk, "/border")
        await desk.until(lambda: any(r.startswith("── scripted-1") and r.endswith(" ready ──") for r in desk.rows))
        await desk.not_see("(auto)")
        await desk.submit("go")
        await desk.see(" at work ──")
        assert "Working" not in desk.text
        gate.set()
        await desk.see(" ready ──")
        await command(desk, "/border")
        await desk.see("(auto)")


async def test_a_window_goes_from_place_to_place(tmp_path: Path) -> None:
    async with with_example(tmp_path, "ui_overlays") as desk:
        await command(desk, "/overlays")
        await desk.until(lambda: desk.rows[1].startswith(" [top-left]"))
        desk.key("space", "space")
        await desk.until(lambda: desk.rows[1].find("[top-right]") == 69)
        desk.key("escape")
        await desk.not_see("[top")


async def test_the_model_plays_on_free_fields_only(tmp_path: Path) -> None:
    moves = (
        says(call("tictactoe_move", "c1", field=4)),
        says(call("tictactoe_move", "c2", field=1)),
        says("Your turn."),
    )
    async with with_example(tmp_path, "ui_tic_tac_toe", replies=moves) as desk:
        await command(desk, "/tictactoe")
        await desk.see("[.]")
        desk.key("enter")
        await desk.see("Your turn.")
        await desk.see("The field 4 is not free on ....X....")
        await desk.see(" .  O  .")
        await command(desk, "/tictactoe")
        await desk.see(" . [X] .")


async def test_all_examples_live_together(tmp_path: Path) -> None:
    names = sorted(path.stem for path in EXAMPLES.glob("ui_*.py"))
    async with with_example(tmp_path, *names, replies=(says("together"),)) as desk:
        await desk.see("INSERT")
        await desk.ask("hi", "together")
        await desk.see("turns: 1")
        assert "Extension error" not in desk.text
