"""What takes long shows on a terminal how far it is; in a pipe nothing of it is seen."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path

import pytest

from piolet.cli.progress import Progress
from tests.support.run import PIOLET, Place
from tests.support.showcase import showcase
from tests.support.terminal import Terminal

ERASE = "\r\x1b[K"


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def saved(place: Place) -> Path:
    """A session of the working directory."""
    session = showcase()
    session.lines[0]["cwd"] = str(place.cwd)
    folder = place.agent / "sessions" / f"--{str(place.cwd).strip('/').replace('/', '-')}--"
    folder.mkdir(parents=True)
    return session.write(folder / "one.jsonl")


def test_a_line_tells_what_is_done_and_is_gone_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    screen = Screen()
    with Progress("Reading \x1b[31mnames", screen) as progress:
        assert screen.getvalue() == f"{ERASE}Reading names..."
        counts = []
        for item in progress.each("abc"):
            progress._draw()
            counts.append((item, screen.getvalue().rpartition(ERASE)[2]))
    assert counts == [("a", "Reading names... 1/3"), ("b", "Reading names... 2/3"), ("c", "Reading names... 3/3")]
    assert screen.getvalue().endswith(ERASE)


def test_a_line_never_wraps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "20")
    screen = Screen()
    with Progress("x" * 100, screen):
        pass
    assert max(map(len, screen.getvalue().split(ERASE))) == 19


@pytest.mark.parametrize("term", ["dumb", ""])
def test_a_terminal_that_cannot_erase_is_told_nothing(monkeypatch: pytest.MonkeyPatch, term: str) -> None:
    monkeypatch.setenv("TERM", term)
    screen = Screen()
    with Progress("Reading", screen) as progress:
        assert list(progress.each([1, 2])) == [1, 2]
    assert screen.getvalue() == ""


COMMANDS = [
    ("Reading sessions", "sessions list --all"),
    ("Reading sessions", "sessions search tram"),
    ("Reading sessions", "usage"),
    ("Checking", "sessions verify"),
    ("Repairing", "sessions verify --repair"),
    ("Importing copy.jsonl", "sessions import copy.jsonl"),
    ("Exporting", "sessions export 0195-tram out.jsonl"),
    ("Exporting", "--export 0195-tram page.html"),
]


@pytest.mark.parametrize(("line", "command"), COMMANDS)
def test_commands_that_may_take_long_show_it_on_a_terminal_alone(
    place: Place, saved: Path, line: str, command: str
) -> None:
    (place.cwd / "copy.jsonl").write_bytes(saved.read_bytes())
    piped = place.run(*command.split())
    assert (piped.exit, piped.stderr) == (0, "")
    assert f"{line}..." not in piped.stdout
    with Terminal([*PIOLET, *command.split()], cwd=place.cwd, env=place.environment()) as terminal:
        assert terminal.wait_for_exit(60) == 0
        assert f"{ERASE}{line}..." in terminal.output.decode()
        assert f"{line}..." not in terminal.text
        assert terminal.text.strip()


@pytest.fixture
def gate(place: Place, tmp_path: Path) -> Path:
    """A pip that works when something is written into the file that is returned."""
    gate, command = tmp_path / "gate", tmp_path / "pip"
    os.mkfifo(gate)
    command.write_text(f'#!/bin/sh\nread _ < "{gate}"\nwhile [ "$1" != --target ]; do shift; done\nmkdir -p "$2"\n')
    command.chmod(0o755)
    place.write_settings({"piolet": {"pipCommand": [str(command)]}})
    return gate


def test_an_install_shows_itself_until_it_is_done(place: Place, gate: Path) -> None:
    argv = [*PIOLET, "install", "pypi:ropes"]
    with Terminal(argv, cwd=place.cwd, env=place.environment() | {"PI_OFFLINE": ""}) as terminal:
        terminal.wait_for("Installing pypi:ropes...", 60)
        terminal.wait_for(" s)", 60)
        gate.write_text("\n")
        assert terminal.wait_for_exit(60) == 0
        assert "Installed pypi:ropes" in terminal.text
        assert "Installing" not in terminal.text


@pytest.mark.parametrize("mode", [["-p", "hi"], []])
def test_packages_that_are_fetched_at_the_start_are_shown(place: Place, gate: Path, mode: list[str]) -> None:
    settings = json.loads((place.agent / "settings.json").read_text())
    place.write_settings(settings | {"packages": ["pypi:ropes"]})
    argv = [*PIOLET, "--model", "demo/scripted", *mode]
    with Terminal(argv, cwd=place.cwd, env=place.environment() | {"PI_OFFLINE": ""}) as terminal:
        terminal.wait_for("Fetching pypi:ropes...", 60)
        gate.write_text("\n")
        terminal.wait_for("DEMO" if mode else "Type to the model", 60)
        terminal.wait_for(lambda text: "Fetching" not in text, 60)
