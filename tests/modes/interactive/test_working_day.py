from __future__ import annotations

import json

import pytest

from tests.modes.interactive.program import READY, running
from tests.support.replies import Call, openai
from tests.support.run import Place
from tests.support.server import Reply, ScriptedServer

MARKDOWN = "# Plan\n\n1. **look** at `a.txt`\n2. change it\n\n```python\nprint('hi')\n```\n"
ENDLESS: Reply = {"stream": [{"delta": {"content": "On and on"}}, {"sleep_ms": 60_000}]}


BEGINNING = [
    *("please change it", "Plan", "1. look at a.txt", "print('hi')", "read a.txt", "+1 two"),
    *("$ until [ -e go ]; do sleep 0.05; done; cat a.txt",),
]
BRANCH = ["[branch] Branch summary (ctrl+o to expand)"]
#: What the day leaves in the scrollback of regular mode, in this order: what is opened again stands there again.
LEFT = [
    *("[Context]", *BEGINNING, "now stop", "You said stop, so I stop.", "go on", "On and on", "Operation aborted"),
    *(*BRANCH, "Navigated to selected point", "another way", "Another way."),
    *(*BEGINNING, *BRANCH, "another way", "Another way.", "To resume this session:"),
]


@pytest.mark.parametrize("mode", ["fullscreen", "regular"])
def test_a_working_day(place: Place, mode: str) -> None:
    regular = mode == "regular"
    (place.cwd / ".pi").mkdir()
    (place.cwd / ".pi" / "settings.json").write_text('{"outputPad": 0}')
    (place.cwd / "AGENTS.md").write_text("Be brief.")
    (place.cwd / "a.txt").write_text("one\n")
    place.write_settings({"compaction": {"keepRecentTokens": 50}, "retry": {"enabled": False}, "tuiMode": mode})
    edit = {"path": "a.txt", "edits": [{"oldText": "one", "newText": "two"}]}
    script = [
        openai(MARKDOWN, Call("read", {"path": "a.txt"}, "c1"), Call("edit", edit, "c2")),
        openai(Call("bash", {"command": "until [ -e go ]; do sleep 0.05; done; cat a.txt"}, "c3")),
        openai("You said stop, so I stop."),
        ENDLESS,
        openai("A summary of the branch."),
        openai("Another way."),
        openai("The summary of it all."),
    ]
    with ScriptedServer(script) as server:
        place.write_models(server.url)
        with running(place, "--model", "stub/m1", ready="Trust project folder?") as terminal:
            assert "one" not in terminal.text
            terminal.press("enter")
            terminal.wait_for("[Context]")
            assert json.loads((place.agent / "trust.json").read_text()) == {str(place.cwd.resolve()): True}

            terminal.send("please change it\r")
            terminal.wait_for("Plan")
            terminal.wait_for("+1 two")
            terminal.wait_for("$ until [ -e go ]")
            terminal.resize(90, 24)
            terminal.send("now stop\r")
            terminal.wait_for("Steering: now stop")
            terminal.resize(110, 34)
            (place.cwd / "go").touch()
            text = terminal.wait_for("You said stop, so I stop.")
            assert "Steering:" not in text
            assert (place.cwd / "a.txt").read_text() == "two\n"
            assert "AGENTS" in json.dumps(server.requests[0].body)

            terminal.send("go on\r")
            terminal.wait_for("On and on")
            terminal.resize(70, 20)
            terminal.press("escape")
            terminal.wait_for("Operation aborted")
            server.wait_for_disconnects()

            terminal.resize(100, 30)
            terminal.send("/tree\r")
            terminal.wait_for("Session Tree")
            terminal.press("ctrl+u", "up")
            terminal.wait_for("› • user: now stop")
            terminal.press("enter")
            terminal.wait_for("Summarize branch?")
            terminal.press("down", "enter")
            terminal.wait_for("Navigated to selected point")
            terminal.wait_for("[branch] Branch summary")
            terminal.press("ctrl+c")
            terminal.send("another way\r")
            terminal.wait_for("Another way.")

            terminal.send("/fork\r")
            terminal.wait_for("Fork from message")
            terminal.press("enter")
            terminal.wait_for("Forked to new session")
            terminal.press("ctrl+c")

            terminal.send("/resume\r")
            terminal.wait_for("(1/2)")
            terminal.press("enter")
            terminal.wait_for("Resumed session")

            terminal.send("/compact\r")
            terminal.wait_for("[compaction] Compacted from")
            terminal.send("/reload\r")
            terminal.wait_for("Reloaded")
            terminal.send("/quit\r")
            assert terminal.wait_for_exit() == 0
            assert "To resume this session:" in terminal.text
            if regular:
                rows = [row.strip() for row in terminal.all_lines]
                assert [row for row in rows if row in LEFT] == LEFT
                assert [row for row in rows if "────" in row or "[compaction]" in row] == [
                    "[compaction] Compacted from 1,205 tokens (ctrl+o to expand)"
                ]
        assert len(server.requests) == len(script)
    assert len(place.sessions()) == 2

    with running(place, "-c", ready=READY) as terminal:
        terminal.wait_for("Session compacted 1 time")
        terminal.press("ctrl+o")
        terminal.wait_for("Tool output: expanded")
        if not regular:
            terminal.press("pageup")
        terminal.wait_for("The summary of it all.")
        terminal.press("ctrl+d")
        assert terminal.wait_for_exit() == 0


def test_a_session_is_chosen_before_the_start(place: Place) -> None:
    with ScriptedServer([openai("First."), openai("Second.")]) as server:
        place.write_models(server.url)
        for text in ("one", "two"):
            assert place.run("-p", "--model", "stub/m1", text).exit == 0
        with running(place, "-r", ready="(1/2)") as terminal:
            terminal.send("one\r")
            terminal.wait_for("First.")
            terminal.press("ctrl+d")
            assert terminal.wait_for_exit() == 0
        with running(place, "-r", ready="(1/2)") as terminal:
            terminal.press("escape")
            assert terminal.wait_for_exit() == 0


def test_what_keeps_it_from_starting_is_said_on_the_plain_terminal(place: Place) -> None:
    with running(place, "--model", "nobody/nothing", ready="Error:") as terminal:
        assert terminal.wait_for_exit() == 1
        assert "nobody/nothing" in terminal.text


def test_prompts_of_the_command_line_are_sent_in_turn(place: Place) -> None:
    with ScriptedServer([openai("First."), openai("Second.")]) as server:
        place.write_models(server.url)
        (place.cwd / "note.txt").write_text("the note")
        with running(place, "--model", "stub/m1", "@note.txt", "read it", "and then") as terminal:
            terminal.wait_for("Second.")
        assert "the note" in json.dumps(server.requests[0].body)


def test_keys_typed_before_the_screen_is_up_are_kept(place: Place) -> None:
    with ScriptedServer([openai("Got it.")]) as server:
        place.write_models(server.url)
        with running(place, "--model", "stub/m1", ready="") as terminal:
            terminal.send("early bird")
            terminal.wait_for(READY)
            terminal.wait_for(lambda text: "\nearly bird\n" in text)
            terminal.press("enter")
            terminal.wait_for("Got it.")
