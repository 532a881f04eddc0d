"""Colours of the screen: the terminal's own, and theme files that change (terminal specification, section 14)."""

from __future__ import annotations

import itertools
import json
import os
from pathlib import Path

import pytest

from piolet.modes.interactive import theme_watch
from piolet.tui.theme_builtin import theme_file
from piolet.tui.widgets.driver import TerminalReport
from tests.modes.interactive.desk import Desk, opened
from tests.modes.interactive.program import READY, running
from tests.support.run import Place
from tests.support.terminal import Terminal


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


@pytest.mark.parametrize("mode", ["fullscreen", "regular"])
def test_themes_are_tried_on_a_terminal_chosen_and_followed(place: Place, mode: str) -> None:
    path = place.agent / "themes" / "mine.json"
    path.parent.mkdir(parents=True)
    write_mine(path, "#123456")
    place.write_settings({"theme": "light/dark", "tuiMode": mode})
    with running(place, "--model", "demo/scripted", env={"NO_COLOR": ""}) as terminal:
        wait_for_dim(terminal, "929ca8")  # dark, until the terminal says what it is
        terminal.send("\x1b]11;rgb:ffff/ffff/ffff\x1b\\\x1b[?62;4c")
        wait_for_dim(terminal, "5a6570")
        open_themes(terminal)
        terminal.wait_for("→ ✓ automatic")
        terminal.press("down")
        wait_for_dim(terminal, "929ca8")
        terminal.press("down", "down")
        wait_for_dim(terminal, "123456")
        terminal.press("escape")
        wait_for_dim(terminal, "5a6570")
        terminal.press("enter")
        terminal.wait_for("→ ✓ automatic")
        terminal.press("enter")
        terminal.wait_for("Theme on a light background")
        terminal.wait_for("→ ✓ light")
        terminal.press("down", "enter")
        terminal.wait_for("Theme on a dark background")
        terminal.press("enter")
        terminal.wait_for("mine/dark")
        wait_for_dim(terminal, "123456")
        assert json.loads((place.agent / "settings.json").read_text())["theme"] == "mine/dark"
        write_mine(path, "#654321")
        wait_for_dim(terminal, "654321")
        terminal.send("\x1b]11;rgb:0000/0000/0000\x1b\\")
        wait_for_dim(terminal, "929ca8")
        terminal.send("\x1b]11;rgb:ffff/ffff/ffff\x1b\\")
        wait_for_dim(terminal, "654321")  # as it was read last


def test_a_theme_of_one_run_is_not_stored_and_ends_when_another_is_chosen(place: Place) -> None:
    place.write_settings({"theme": "dark"})
    with running(place, "--model", "demo/scripted", "--use-theme", "light", env={"NO_COLOR": ""}) as terminal:
        wait_for_dim(terminal, "5a6570")
        assert json.loads((place.agent / "settings.json").read_text())["theme"] == "dark"
        open_themes(terminal)
        terminal.wait_for("→ ✓ light")
        terminal.press("up", "enter")
        wait_for_dim(terminal, "929ca8")


def write_mine(path: Path, dim: str) -> None:
    """Write a theme of one's own at once."""
    theme = theme_file("light") | {"name": "mine"}
    theme["colors"] = theme["colors"] | {"dim": dim}
    new = path.with_suffix(".new")
    new.write_text(json.dumps(theme))
    new.replace(path)


def open_themes(terminal: Terminal) -> None:
    terminal.send("/settings\r")
    terminal.wait_for("Search:")
    terminal.send("theme...")
    terminal.wait_for("→ Theme...")
    terminal.press("enter")


def wait_for_dim(terminal: Terminal, color: str) -> None:
    """Wait until the footer, which is dim, has a colour."""
    terminal.wait_for(lambda text: terminal.colors_of(READY) == [color] * len(READY), timeout=60)


async def test_what_is_wrong_with_a_saved_theme_is_told_once_and_its_colours_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(theme_watch, "SECONDS", 3600)  # only the test looks
    path = tmp_path / "home" / ".pi" / "agent" / "themes" / "mine.json"
    path.parent.mkdir(parents=True)
    write_mine(path, "#123456")
    saves = itertools.count(1)

    def save(text: str, looks: int = 2) -> None:
        path.write_text(text)
        os.utime(path, (1, next(saves)))
        for _ in range(looks):
            watch.look()

    def told() -> int:
        return sum("The theme 'mine' stays as it was: " in block.source for block in desk.face.app.transcript.blocks)

    async with opened(tmp_path, settings={"theme": "mine"}) as desk:
        watch = theme_watch.ThemeWatch(desk.face)
        good = theme_file("light") | {"name": "mine"}
        lacking = good | {"colors": {name: color for name, color in good["colors"].items() if name != "accent"}}
        save("{ half a file", looks=1)
        assert told() == 0
        save(json.dumps(lacking))
        assert told() == 1
        await desk.see("colors lacks accent")
        assert desk.face.looks.theme.colors["dim"] == "#123456"
        save(json.dumps(lacking, indent=1))
        assert told() == 1
        save("{")
        assert told() == 2
        save(json.dumps(good))
        save(json.dumps(lacking))
        assert told() == 3


async def test_the_head_says_what_is_wrong_with_theme_files(tmp_path: Path) -> None:
    themes = tmp_path / "home" / ".pi" / "agent" / "themes"
    themes.mkdir(parents=True)
    write_mine(themes / "mine.json", "nowhere")
    (themes / "other.json").write_text(json.dumps(theme_file("light") | {"name": "dark"}))
    async with opened(tmp_path, size=(80, 40)) as desk:
        await desk.see("[Problems]")
        said = " ".join(row.strip(" ┃│") for row in desk.rows)
        assert "~/.pi/agent/themes/mine.json: " in said
        assert "nowhere" in said
        assert "~/.pi/agent/themes/other.json: the theme 'dark' takes the place of the built-in one" in said
