"""What the terminal is told beside the screen: what the program does (OSC 7501), and where prompts are (OSC 133)."""

from __future__ import annotations

import base64
import re

from tests.modes.interactive.program import READY, running
from tests.support.replies import Call, openai
from tests.support.run import Place
from tests.support.server import Reply, ScriptedServer
from tests.support.terminal import Terminal

QUERY = b"\x1b]7501;?\x1b\\"
WANTS_STATUS = {QUERY: QUERY.decode()}

GUARD = """
def extension(pi):
    @pi.on("tool_call")
    async def ask(event, ctx):
        await ctx.ui.confirm("Run it?", "bash")
"""


def reports(terminal: Terminal) -> list[str]:
    """Return what was told of the program, its messages as text."""
    found = re.findall(rb"\x1b\]7501;state=([^\x1b\x07]*)\x1b\\", terminal.output)
    return [
        re.sub(r"msg=(.*)", lambda match: base64.b64decode(match[1]).decode(), told.decode().replace(":app=piolet", ""))
        for told in found
    ]


def marks(output: bytes) -> str:
    return "".join(mark.decode() for mark in re.findall(rb"\x1b\]133;(\w)\x1b\\", output))


def test_a_terminal_that_wants_it_is_told_what_the_program_does(place: Place) -> None:
    guard = place.cwd / ".pi" / "extensions" / "guard.py"
    guard.parent.mkdir(parents=True)
    guard.write_text(GUARD)
    slow: Reply = {"stream": [{"delta": {"content": "it begins"}}, {"sleep_ms": 60_000}]}
    bad: Reply = {"status": 400, "json": {"error": {"message": "no such thing"}}}
    script = [openai(Call("bash", {"command": "true"}, "c1")), openai("the end"), slow, bad]

    with ScriptedServer(script) as server:
        place.write_models(server.url)
        place.write_settings({})
        with running(place, "--model", "stub/m1", ready="Trust project folder?", answers=WANTS_STATUS) as terminal:

            def wait_for(state: str) -> None:
                terminal.wait_for(lambda text: reports(terminal)[-1:] == [state])

            wait_for("blocked:kind=permission:Trust project folder?")
            terminal.press("enter")
            terminal.wait_for(READY)
            wait_for("idle")
            told = len(reports(terminal))
            terminal.send("one\r")
            wait_for("blocked:kind=permission:Run it?")
            terminal.press("enter")
            wait_for("done")
            terminal.send("two\r")
            terminal.wait_for("it begins")
            terminal.press("escape")
            wait_for("idle")
            terminal.send("three\r")
            terminal.wait_for("no such thing")
            terminal.wait_for(lambda text: reports(terminal)[-1].startswith("error:400"))
            terminal.press("ctrl+d")  # leaves only while nothing stands in the editor
            assert terminal.wait_for_exit() == 0

        *steps, error, end = reports(terminal)[told:]
        work = ["working", "blocked:kind=permission:Run it?", "working", "done"]
        assert steps == [*work, "working", "idle", "working"]
        assert "no such thing" in error
        assert end == "clear"
        screen, _, left = terminal.output.partition(b"state=clear")
        assert marks(screen) == ""
        assert marks(left) == "ABC" * 3
        assert terminal.output.count(QUERY) == 1


def test_in_regular_mode_another_program_finds_the_status_taken_back_and_no_mark_ends_it(place: Place) -> None:
    editor = place.cwd / "editor"
    editor.write_text('#!/bin/sh\necho "in the editor"\necho changed > "$1"\n')
    editor.chmod(0o755)
    with ScriptedServer([openai("an answer")]) as server:
        place.write_models(server.url)
        arguments = ("--model", "stub/m1", "--tui-mode", "regular")
        with running(place, *arguments, env={"EDITOR": str(editor)}, answers=WANTS_STATUS) as terminal:
            terminal.wait_for(lambda text: reports(terminal) == ["idle"])
            terminal.send("ask\r")
            terminal.wait_for(lambda text: reports(terminal)[-1] == "done")
            terminal.press("ctrl+g")
            terminal.wait_for("\nchanged")
            terminal.wait_for(lambda text: reports(terminal) == ["idle", "working", "done", "clear", "done"])
            assert terminal.output.index(b"state=clear") < terminal.output.index(b"in the editor")
            assert marks(terminal.output) == ""


def test_prompts_are_marked_once_in_the_scrollback_and_no_answer_can_forge_a_mark(place: Place) -> None:
    forged = "\x1b]133;A\x1b\\\x1b]7501;state=done\x1b\\answer"
    with ScriptedServer([openai(f"{forged} {n}") for n in range(2)]) as server:
        place.write_models(server.url)
        with running(place, "--model", "stub/m1", "--tui-mode", "regular") as terminal:
            for n in range(2):
                terminal.send(f"question {n}\r")
                terminal.wait_for(f"answer {n}")
                terminal.wait_for(lambda text: "Working" not in text)
                terminal.resize(90 - n, 24)
                terminal.wait_for(READY)
            terminal.press("ctrl+d")
            assert terminal.wait_for_exit() == 0
            between = re.findall(rb"\x1b\]133;(\w)\x1b\\|(question \d|answer \d)", terminal.output)
            text = b" ".join(mark or words for mark, words in between)
            for n in (b"0", b"1"):
                assert text.count(b"A question " + n + b" B C") == 1
            assert marks(terminal.output) == "ABC" * 2
            assert reports(terminal) == []


def test_a_dumb_terminal_is_neither_asked_nor_marked(place: Place) -> None:
    with ScriptedServer([openai("an answer")]) as server:
        place.write_models(server.url)
        with running(place, "--model", "stub/m1", "--tui-mode", "regular", env={"TERM": "dumb"}) as terminal:
            terminal.send("ask\r")
            terminal.wait_for("an answer")
            terminal.wait_for(lambda text: "Working" not in text)
            terminal.press("ctrl+d")
            assert terminal.wait_for_exit() == 0
            assert QUERY not in terminal.output
            assert marks(terminal.output) == ""
