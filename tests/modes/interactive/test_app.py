"""The screen on the toolkit."""

from __future__ import annotations

import contextvars
import os
from pathlib import Path

from piolet.modes.interactive.controls import window_title
from tests.modes.interactive.desk import opened
from tests.modes.interactive.program import running
from tests.support.replies import openai
from tests.support.run import Place
from tests.support.scripted_model import hangs
from tests.support.server import ScriptedServer


async def test_what_another_thread_wants_repeated_is_repeated(tmp_path: Path) -> None:
    calls: list[int] = []
    async with opened(tmp_path) as desk:
        stop = contextvars.Context().run(desk.face.app.every, 0.01, lambda: calls.append(1))
        await desk.until(lambda: len(calls) > 2)
        stop()


async def test_files_that_cannot_be_used_are_told_at_the_start_with_what_to_do(tmp_path: Path) -> None:
    agent = tmp_path / "home" / ".pi" / "agent"
    agent.mkdir(parents=True)
    names = ("auth.json", "settings.json", "keybindings.json", "models.json")
    for name in names:
        (agent / name).write_text('{"a":\n}')
    async with opened(tmp_path, size=(400, 30)) as desk:
        for name in names:
            await desk.see(name)
            [told] = [row for row in desk.rows if name in row]
            assert "line 2" in told
            assert "epair it, or move it away" in told


async def test_the_window_is_named_after_program_session_and_folder(tmp_path: Path) -> None:
    written: list[str] = []
    async with opened(tmp_path) as desk:
        desk.face.app.write = written.append  # type: ignore[method-assign]
        await desk.submit("/name My work")
        await desk.until(lambda: "\x1b]0;piolet - My work - cwd\x07" in written)
        await desk.submit("/new")
        await desk.until(lambda: "\x1b]0;piolet - cwd\x07" in written)
    assert window_title("a\x1b]0;b\x07\nc") == "\x1b]0;a c\x07"


async def test_the_terminal_is_told_of_progress_if_a_setting_says_so(tmp_path: Path) -> None:
    written: list[str] = []
    async with opened(tmp_path, hangs("Endless"), settings={"terminal": {"showTerminalProgress": True}}) as desk:
        desk.face.app.write = written.append  # type: ignore[method-assign]
        await desk.submit("go")
        await desk.until(lambda: "\x1b]9;4;3;0\x1b\\" in written)
        desk.key("escape")
        await desk.until(lambda: written[-1:] == ["\x1b]9;4;0;0\x1b\\"])


def test_links_are_links_of_the_terminal_where_it_knows_them(place: Place) -> None:
    for known in ("1", "0"):
        with ScriptedServer([openai("See [the page](https://page.example/x).")]) as server:
            place.write_models(server.url)
            with running(place, "--model", "stub/m1", "go", env={"PI_HYPERLINKS": known}) as terminal:
                terminal.wait_for("See the page.\n" if known == "1" else "See the page (https://page.example/x).")
                assert (b";https://page.example/x" in terminal.output) is (known == "1")
                assert os.path.basename(place.cwd) in terminal.text
