"""Nothing moves by itself where the user does not want it (setting ``piolet.animations``)."""

from __future__ import annotations

import json
import re
import time

import pytest

from piolet.modes.interactive.activity import Activity
from piolet.tui.blocks.rules import SPINNER
from piolet.tui.spans import line_text
from tests.modes.interactive.program import running
from tests.support.replies import Call, openai
from tests.support.run import ROOT, Place
from tests.support.server import ScriptedServer
from tests.support.terminal import Terminal

BALL = ROOT / "examples" / "extensions" / "ui_working.py"


def wait_for_rest(terminal: Terminal, *, seconds: float = 2.0, most: int = 20) -> None:
    """Wait until the program writes (nearly) nothing for some seconds."""
    for _ in range(20):
        before = len(terminal.output)
        time.sleep(seconds)
        if len(terminal.output) - before <= most:
            return
    raise AssertionError(f"it goes on writing: {terminal.output[before:]!r}")


def wait_for_row(terminal: Terminal, pattern: str) -> None:
    terminal.wait_for(lambda text: re.search(pattern, text) is not None)


@pytest.mark.parametrize("mode", ["fullscreen", "regular"])
def test_a_run_at_work_writes_nothing_while_nothing_happens(place: Place, mode: str) -> None:
    place.write_settings({"piolet": {"animations": False}, "tuiMode": mode})
    with ScriptedServer([openai(Call("bash", {"command": "echo begun; sleep 120"}, "c1"))]) as server:
        place.write_models(server.url)
        with running(place, "--model", "stub/m1", "-e", str(BALL)) as terminal:
            terminal.send("go\r")
            terminal.wait_for("\n begun")
            terminal.wait_for("── (●     ) Turn 1 ──")
            wait_for_rest(terminal)
            assert "Elapsed" not in terminal.text
            terminal.send("/settings\r")
            terminal.wait_for("Search:")
            terminal.send("animations")
            wait_for_row(terminal, r"→ Animations +off")
            terminal.press("enter")
            wait_for_row(terminal, r"→ Animations +on")
            assert json.loads((place.agent / "settings.json").read_text())["piolet"]["animations"] is True
            terminal.press("escape")
            terminal.wait_for("(   ●  ) Turn 1")
            terminal.wait_for("Elapsed")


def test_what_is_under_way_stands_still() -> None:
    activity = Activity(animated=False)
    activity.work()
    assert {line_text(activity.line(now)) for now in (0.0, 0.3, 7.0)} == {"Working"}
    activity.wait("Retrying in {}s...", 100.0, 3.2)
    assert {line_text(activity.line(now)) for now in (100.0, 102.5)} == {"Retrying in 4s..."}
    activity.animated = True
    assert [line_text(activity.line(now))[2:] for now in (100.0, 102.5)] == ["Retrying in 4s...", "Retrying in 1s..."]
    assert {line_text(activity.line(0.08 * n + 0.01))[0] for n in range(20)} == set(SPINNER)
