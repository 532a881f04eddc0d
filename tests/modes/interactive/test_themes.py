"""Colours of the screen: the terminal's own, and theme files that change (terminal specification, section 14)."""

from __future__ import annotations

import json
import os
from pathlib import Path

from piolet.tui.theme_builtin import theme_file
from piolet.tui.widgets.driver import TerminalReport
from tests.modes.interactive.desk import Desk, opened


def say(desk: Desk, *reports: str) -> None:
    for report in reports:
        desk.face.app.post_message(TerminalReport(report))


async def test_the_system_theme_takes_the_terminals_colours_when_all_have_come(tmp_path: Path) -> None:
    async with opened(tmp_path) as desk:
        assert desk.face.looks.theme.colors["userMessageBg"] == ""
        say(desk, "\x1b]10;rgb:0000/0000/0000\x1b\\", "\x1b]11;rgb:ffff/ffff/ffff\x1b\\", "\x1b[?62;4c")
        await desk.until(lambda: str(desk.face.looks.theme.colors["userMessageBg"]).startswith("#e"))
        assert desk.face.looks.theme.appearance == "light"


async def test_a_pair_of_themes_follows_the_background(tmp_path: Path) -> None:
    async with opened(tmp_path, settings={"theme": "light/dark"}) as desk:
        assert desk.face.looks.theme.name == "dark"
        say(desk, "\x1b]11;rgb:ffff/ffff/ffff\x1b\\", "\x1b[?62;4c")
        await desk.until(lambda: desk.face.looks.theme.name == "light")
        say(desk, "\x1b]11;rgb:0000/0000/0000\x1b\\")
        await desk.until(lambda: desk.face.looks.theme.name == "dark")


async def test_the_file_of_the_theme_in_force_is_read_again_when_it_is_saved(tmp_path: Path) -> None:
    path = tmp_path / "home" / ".pi" / "agent" / "themes" / "mine.json"
    path.parent.mkdir(parents=True)
    theme = theme_file("dark") | {"name": "mine"}
    path.write_text(json.dumps(theme))
    async with opened(tmp_path, settings={"theme": "mine"}) as desk:
        assert desk.face.looks.theme.name == "mine"
        await desk.pilot.pause(1.1)
        theme["colors"] = theme["colors"] | {"accent": "#123456"}
        path.write_text("{ half a file")
        await desk.pilot.pause(1.1)
        path.write_text(json.dumps(theme))
        os.utime(path, (1, 1))
        await desk.until(lambda: desk.face.looks.theme.colors["accent"] == "#123456")


async def test_what_is_asked_before_the_settings_are_read_can_be_read_on_any_background(tmp_path: Path) -> None:
    (tmp_path / "cwd/.pi/skills").mkdir(parents=True)
    async with opened(tmp_path, trust=None, ready=False, settings={"theme": "dark"}) as desk:
        await desk.see("Trust project folder?")
        assert desk.face.looks.theme.colors["text"] == ""
        say(desk, "\x1b]10;rgb:0000/0000/0000\x1b\\", "\x1b]11;rgb:ffff/ffff/ffff\x1b\\", "\x1b[?62;4c")
        await desk.until(lambda: desk.face.looks.theme.colors["text"] == "#000000")
        desk.key("enter")
        await desk.until(lambda: desk.face.looks.theme.name == "dark")
