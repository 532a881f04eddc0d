"""Each example extension that draws on the screen, driven as a user drives it."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.modes.interactive.desk import Desk, opened
from tests.support.run import ROOT
from tests.support.scripted_model import Reply, says

EXAMPLES = ROOT / "examples" / "extensions"


@asynccontextmanager
async def with_example(folder: Path, *names: str, replies: tuple[Reply, ...] = ()) -> AsyncIterator[Desk]:
    place = folder / "home" / ".pi" / "agent" / "extensions"
    place.mkdir(parents=True)
    for name in names:
        shutil.copy(EXAMPLES / f"{name}.py", place)
    async with opened(folder, *replies, size=(100, 40)) as desk:
        yield desk


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


async def test_all_examples_live_together(tmp_path: Path) -> None:
    names = sorted(path.stem for path in EXAMPLES.glob("ui_*.py"))
    async with with_example(tmp_path, *names, replies=(says("together"),)) as desk:
        await desk.see("INSERT")
        await desk.ask("hi", "together")
        await desk.see("turns: 1")
        assert "Extension error" not in desk.text
