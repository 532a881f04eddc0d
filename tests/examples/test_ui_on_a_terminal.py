"""The example extensions that draw, all of them loaded, on a real terminal in both modes."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from tests.examples.test_ui_extensions import EXAMPLES, STAND_IN, repository
from tests.modes.interactive.program import READY, running
from tests.support.replies import Call, openai
from tests.support.run import Place
from tests.support.server import Reply, ScriptedServer
from tests.support.terminal import Terminal

#: Where a window of 30 by 2 stands on a screen of 100 by 40 with a margin of one.
ANCHORS = (
    *("top-left", "top-center", "top-right"),
    *("left-center", "center", "right-center"),
    *("bottom-left", "bottom-center", "bottom-right"),
)
PLACES = [(anchor, x, y) for anchor, (y, x) in zip(ANCHORS, product((1, 19, 37), (1, 35, 69)), strict=True)]
ENDLESS: Reply = {"stream": [{"delta": {"content": "On and on"}}, {"sleep_ms": 60_000}]}


@pytest.mark.parametrize("mode", ["fullscreen", "regular"])
def test_every_example_that_draws_works_on_a_terminal(place: Place, mode: str) -> None:
    repository(place.cwd, "docs/guide.md", "src/main.py")
    stand_in = place.home / "stand_in.py"
    stand_in.write_text(STAND_IN)
    examples = sorted(str(path) for path in EXAMPLES.glob("ui_*.py"))
    arguments = [part for path in (*examples, str(EXAMPLES / "handoff.py"), str(stand_in)) for part in ("-e", path)]
    script = [
        *(openai(Call("subagent", {}, "c1")), openai("agents are done")),
        *(openai(Call("tictactoe_move", {"field": 0}, "c2")), openai("Your turn.")),
        *(openai("All is **well**."), openai("- Which colour?\n- How many?")),
        *(ENDLESS, openai("Write the tests."), openai("On it.")),
        ENDLESS,
    ]
    with ScriptedServer(script) as server:
        place.write_models(server.url)
        words = ("--model", "stub/m1", "--tui-mode", mode, *arguments)
        with running(place, *words, rows=40, env={"NO_COLOR": ""}) as terminal:
            terminal.wait_for("/\\/  \\/\\")  # header
            terminal.wait_for("INSERT")  # modal editor
            terminal.wait_for("ready, turns: 0")  # status line
            drive_dialogs(terminal)
            drive_widgets(terminal)
            drive_game(terminal)
            drive_agents(terminal, place.cwd)
            drive_board(terminal)
            drive_model(terminal)
            drive_tools(terminal)
            drive_overlays(terminal, mode)
            drive_lent_terminal(terminal, place.cwd)
            drive_handoff(terminal, server)
            drive_editors(terminal)
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


def drive_board(terminal: Terminal) -> None:
    terminal.send("/tictactoe\r")
    terminal.wait_for("[.]")
    terminal.press("enter")
    terminal.wait_for("Your turn.")

    def drawn(_: str) -> bool:
        rows = [row.strip() for row in terminal.all_lines]
        board = ["O  .  .", ".  X  .", ".  .  ."]
        return any(rows[at : at + 3] == board for at in range(len(rows)))

    terminal.wait_for(drawn)
    terminal.wait_for("ready, turns: 4")


def drive_model(terminal: Terminal) -> None:
    terminal.send("/summarize\r")
    terminal.wait_for(lambda text: "Any key closes this" in text and "All is well." in text)
    terminal.press("x")
    terminal.wait_for(lambda text: "Any key" not in text)
    terminal.send("/qna\r")
    terminal.wait_for("Q: Which colour?\nA:\nQ: How many?")
    terminal.press("ctrl+c")
    terminal.wait_for(lambda text: "Q: How" not in text)


def drive_tools(terminal: Terminal) -> None:
    terminal.send("/tools\r")
    terminal.wait_for("→ read")
    terminal.press("enter")
    terminal.wait_for(lambda text: any(row.startswith("→ read ") and "off" in row for row in text.split("\n")))
    terminal.press("escape")
    terminal.wait_for("Tools: bash, edit, write")


def drive_overlays(terminal: Terminal, mode: str) -> None:
    """A window of 30 columns and two rows, with a margin of one cell, leans on each of nine places."""
    terminal.send("/overlays\r")
    for anchor, x, y in PLACES:

        def stands(text: str, anchor: str = anchor, x: int = x, y: int = y) -> bool:
            rows = text.split("\n")
            found = [n for n, row in enumerate(rows) if row.find(f"[{anchor}]") == x]
            if mode == "fullscreen" and found != [y]:  # else only as many rows are drawn on as are needed
                return False
            return len(found) == 1 and rows[found[0] + 1].find(" 30%, 30 columns") == x

        terminal.wait_for(stands)
        terminal.press(" ")
    terminal.press("+")
    terminal.wait_for("40%, 40 columns")
    terminal.press("-", "-", "-", "-", "-")
    terminal.wait_for("10%, 20 columns")
    terminal.resize(39, 40)
    terminal.wait_for(lambda text: "20 columns" not in text)
    terminal.resize(100, 40)
    terminal.wait_for("10%, 20 columns")
    terminal.press("escape")
    terminal.wait_for(lambda text: "20 columns" not in text)


def drive_lent_terminal(terminal: Terminal, cwd: Path) -> None:
    terminal.send("!i test -t 0 && test -t 1 && echo it is mine && read said && echo $said > said.txt\r")
    terminal.wait_for(lambda text: "it is mine" in text.split("\n"))
    terminal.send("a word\r")
    terminal.wait_for("(it ran on the terminal)")
    assert (cwd / "said.txt").read_text() == "a word\n"
    terminal.wait_for("INSERT")


def drive_handoff(terminal: Terminal, server: ScriptedServer) -> None:
    terminal.send("/handoff the tests\r")
    terminal.wait_for("⠙ Writing the handoff")
    terminal.press("escape")
    terminal.wait_for(lambda text: "Writing the handoff" not in text)
    server.wait_for_disconnects()
    terminal.send("/handoff the tests\r")
    terminal.wait_for("Write the tests.")
    terminal.press("enter")
    terminal.wait_for("On it.")
    terminal.wait_for("ready, turns: 1")


def drive_editors(terminal: Terminal) -> None:
    terminal.send("/rainbow\r")
    terminal.wait_for(lambda text: "INSERT" not in text)
    terminal.send("a rainbow")
    terminal.wait_for(lambda text: "\na rainbow" in text and len(set(terminal.colors_of("rainbow"))) == 6)
    first = terminal.colors_of("rainbow")
    terminal.wait_for(lambda text: terminal.colors_of("rainbow") not in (first, []))
    terminal.press("ctrl+c")
    terminal.wait_for(lambda text: "rainbow" not in text)
    terminal.send("/border\r")
    terminal.wait_for("── m1 ")
    terminal.wait_for(lambda text: " ready ──" in text and READY not in text)
    terminal.send("more\r")
    terminal.wait_for("On and on")
    terminal.wait_for(" at work ──")
    assert "●" not in terminal.text
    terminal.send("/border\r")
    terminal.wait_for("●")
    terminal.wait_for(READY)
