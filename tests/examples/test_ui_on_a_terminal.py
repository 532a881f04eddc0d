"""The example extensions that draw, all of them loaded, on a real terminal in both modes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.examples.test_ui_extensions import EXAMPLES, STAND_IN, repository
from tests.modes.interactive.program import running
from tests.support.replies import Call, openai
from tests.support.run import Place
from tests.support.server import Reply, ScriptedServer
from tests.support.terminal import Terminal

ENDLESS: Reply = {"stream": [{"delta": {"content": "On and on"}}, {"sleep_ms": 60_000}]}


@pytest.mark.parametrize("mode", ["fullscreen", "regular"])
def test_every_example_that_draws_works_on_a_terminal(place: Place, mode: str) -> None:
    repository(place.cwd, "docs/guide.md", "src/main.py")
    stand_in = place.home / "stand_in.py"
    stand_in.write_text(STAND_IN)
    examples = sorted(str(path) for path in EXAMPLES.glob("ui_*.py"))
    arguments = [part for path in (*examples, str(stand_in)) for part in ("-e", path)]
    script = [openai(Call("subagent", {}, "c1")), openai("agents are done"), ENDLESS]
    with ScriptedServer(script) as server:
        place.write_models(server.url)
        with running(place, "--model", "stub/m1", "--tui-mode", mode, *arguments, rows=40) as terminal:
            terminal.wait_for("/\\/  \\/\\")  # header
            terminal.wait_for("INSERT")  # modal editor
            terminal.wait_for("ready, turns: 0")  # status line
            drive_dialogs(terminal)
            drive_widgets(terminal)
            drive_game(terminal)
            drive_agents(terminal, place.cwd)
            terminal.send("more\r")
            terminal.wait_for("On and on")
            terminal.wait_for("●")
            assert "Extension error" not in terminal.text


def drive_dialogs(terminal: Terminal) -> None:
    terminal.send("/questionnaire\r")
    terminal.wait_for("Something else")
    terminal.press("enter")
    terminal.wait_for("Write them first")
    terminal.press("enter")
    terminal.wait_for("- Tests: Write them first")
    terminal.press("escape")
    terminal.wait_for("NORMAL")
    terminal.press("i")
    terminal.wait_for("INSERT")
    terminal.press("ctrl+c")
    terminal.wait_for(lambda text: "- Tests" not in text)
    terminal.send("/pick\r")
    terminal.wait_for("╭──")
    terminal.send("main")
    terminal.wait_for(lambda text: "docs/guide.md" not in text)
    terminal.press("enter")
    terminal.wait_for("\n@src/main.py")
    terminal.press("ctrl+c")
    terminal.wait_for(lambda text: "\n@src" not in text and "╭──" not in text)


def drive_widgets(terminal: Terminal) -> None:
    terminal.send("/remind be brief\r")
    terminal.wait_for("REMINDER be brief")
    terminal.send("/plan read, write\r")
    terminal.wait_for("░░ 0/2")
    terminal.send("/done\r")
    terminal.wait_for("☑ read")
    terminal.send("/footer\r")
    terminal.wait_for("cwd | m")
    terminal.send("/footer\r")
    terminal.wait_for("/128k")


def drive_game(terminal: Terminal) -> None:
    terminal.send("/snake\r")
    terminal.wait_for("arrows steer")
    terminal.press("down")
    terminal.wait_for("GAME OVER", timeout=60)
    terminal.press("q")
    terminal.wait_for("points")


def drive_agents(terminal: Terminal, cwd: Path) -> None:
    terminal.send("go\r")
    terminal.wait_for("▸ worker: change it")
    (cwd / "go").touch()
    terminal.wait_for("agents are done")
    terminal.wait_for("✓ subagent")  # minimal tools
    terminal.wait_for(lambda text: "worker" not in text)
    terminal.wait_for("ready, turns: 2")
