"""Regular mode: what is finished goes to the terminal's scrollback, once and in order (specification, section 1)."""

from __future__ import annotations

import random
import re
import shlex
import shutil
import subprocess
import time
from collections.abc import Callable

import pytest

from tests.modes.interactive.program import READY, running
from tests.support.replies import Call, openai
from tests.support.run import PIOLET, Place
from tests.support.server import Reply, ScriptedServer
from tests.support.terminal import Terminal

PARAGRAPHS = [f"par {n}: " + "word " * random.Random(n).randrange(30) + f"end{n}." for n in range(30)]


def everything(terminal: Terminal) -> list[str]:
    return [row.strip() for row in terminal.all_lines]


def streamed(paragraphs: list[str]) -> Reply:
    """Return an answer that takes some seconds."""
    text = "\n\n".join(paragraphs)
    pieces = [text[at : at + 20] for at in range(0, len(text), 20)]
    steps = [step for piece in pieces for step in ({"delta": {"content": piece}}, {"sleep_ms": 15})]
    return {"stream": [*steps, {"finish": "stop"}, {"done": True}]}


def test_finished_blocks_stand_in_the_scrollback_once_and_in_order(place: Place) -> None:
    replies = [openai(f"answer {n}\n\n" + "\n\n".join(f"row {n}.{m}" for m in range(6))) for n in range(4)]
    with ScriptedServer(replies) as server:
        place.write_models(server.url)
        with running(place, "--model", "stub/m1", "--tui-mode", "regular", rows=24) as terminal:
            for n in range(4):
                terminal.send(f"question {n}\r")
                terminal.wait_for(f"row {n}.5")
                if n == 1:
                    terminal.resize(90, 24)
                    terminal.wait_for(READY)
            terminal.wait_for(lambda text: "Working" not in text)
            wanted = [
                row for n in range(4) for row in (f"question {n}", f"answer {n}", *(f"row {n}.{m}" for m in range(6)))
            ]
            terminal.wait_for(lambda _: [row for row in everything(terminal) if row in wanted] == wanted)
            assert b"\x1b[?1049h" not in terminal.output
            assert b"\x1b[?1003h" not in terminal.output


def test_a_long_answer_is_in_the_scrollback_while_it_still_comes(place: Place) -> None:
    endless: Reply = {"stream": [{"delta": {"content": f"row {n}\n\n"}} for n in range(60)] + [{"sleep_ms": 60_000}]}
    with ScriptedServer([endless]) as server:
        place.write_models(server.url)
        with running(place, "--model", "stub/m1", "--tui-mode", "regular", rows=20) as terminal:
            terminal.send("go\r")
            terminal.wait_for("row 59")
            wanted = [f"row {n}" for n in range(60)]
            assert [row for row in everything(terminal) if row in wanted] == wanted
            terminal.press("escape")
            terminal.wait_for("Operation aborted")
            assert [row for row in everything(terminal) if row in wanted] == wanted


def test_resizing_while_an_answer_comes_leaves_every_paragraph_once(place: Place) -> None:
    dice = random.Random(7)
    with ScriptedServer([streamed(PARAGRAPHS)]) as server:
        place.write_models(server.url)
        with running(place, "--model", "stub/m1", "--tui-mode", "regular") as terminal:
            terminal.send("go\r")
            terminal.wait_for("par 1:")
            while not any("end29." in row for row in everything(terminal)):
                terminal.resize(dice.randrange(40, 120), dice.randrange(14, 40))
                time.sleep(0.2)
            terminal.resize(100, 30)
            terminal.wait_for(lambda text: "Working" not in text and READY in text)
            check_paragraphs(" ".join(everything(terminal)))


def check_paragraphs(text: str) -> None:
    for n in range(len(PARAGRAPHS)):
        assert text.count(f"par {n}: ") == 1, f"par {n}:\n{text}"
    ends = [text.index(f"par {n}: ") for n in range(len(PARAGRAPHS))]
    assert ends == sorted(ends)
    assert "Working" not in text


@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux, which breaks rows anew, is not installed")
def test_a_terminal_that_breaks_rows_anew_has_every_row_once_and_no_frames_above(place: Place) -> None:
    code = "".join(f"code {n};\n" for n in range(60))
    with ScriptedServer([streamed(PARAGRAPHS), streamed([f"```c\n{code}```", "the end"])]) as server:
        place.write_models(server.url)
        with Tmux(place) as tmux:
            tmux.wait_for(READY)
            tmux.run("send-keys", "-l", "go")
            tmux.run("send-keys", "Enter")
            tmux.wait_for("par 1:")
            dice = random.Random(3)
            while "end29." not in tmux.text:
                tmux.run("resize-window", "-x", str(dice.randrange(50, 120)), "-y", str(dice.randrange(15, 40)))
                time.sleep(dice.choice([0.05, 0.3]))
            tmux.run("resize-window", "-x", "100", "-y", "30")
            tmux.wait_until(lambda: "Working" not in tmux.text and READY in tmux.screen)
            for rows in (4, 30, 2, 30):  # shorter than what is drawn
                tmux.run("resize-window", "-x", "100", "-y", str(rows))
                tmux.wait_until(lambda rows=rows: tmux.screen.count("────\n") == min(2, rows // 2))  # type: ignore[misc]
            assert tmux.text.count("────\n") == 2
            tmux.run("send-keys", "-l", "as tall as the screen")
            tmux.run("send-keys", "Enter")
            tmux.wait_for("the end")
            tmux.wait_until(lambda: "Working" not in tmux.text and tmux.text.count("────\n") == 2)
            tmux.run("send-keys", "C-d")
            tmux.wait_for("after it")
            assert [row.strip() for row in tmux.text.splitlines() if "code " in row] == code.splitlines()
            text = " ".join(tmux.text.split())
            check_paragraphs(text)
            assert "────" not in text
            assert text.count("before it") == 1


class Tmux:
    """The program in a window of a tmux of its own."""

    def __init__(self, place: Place) -> None:
        command = " ".join(map(shlex.quote, [*PIOLET, "--model", "stub/m1", "--tui-mode", "regular"]))
        self._place = place
        self._socket = str(place.home / "tmux")
        size = ("-x", "100", "-y", "30", "-c", str(place.cwd))
        self.run("-f", "/dev/null", "new-session", "-d", *size, f"echo before it; {command}; echo after it; cat")

    def __enter__(self) -> Tmux:
        return self

    def __exit__(self, *_: object) -> None:
        self.run("kill-server")

    def run(self, *argv: str) -> str:
        environment = self._place.environment() | {"TERM": "xterm-256color"}
        return subprocess.run(
            ["tmux", "-S", self._socket, *argv], env=environment, capture_output=True, text=True, check=False
        ).stdout

    @property
    def text(self) -> str:
        """Everything in the window and its history."""
        return self.run("capture-pane", "-p", "-S", "-")

    @property
    def screen(self) -> str:
        """What is in the window now."""
        return self.run("capture-pane", "-p")

    def wait_for(self, expected: str) -> None:
        self.wait_until(lambda: expected in self.text)

    def wait_until(self, done: Callable[[], bool]) -> None:
        end = time.monotonic() + 60
        while not done():
            assert time.monotonic() < end, f"it does not come:\n{self.text}"
            time.sleep(0.05)


def test_leaving_prints_nothing_twice_and_leaves_the_prompt_below(place: Place) -> None:
    with ScriptedServer(
        [openai("the only answer", Call("bash", {"command": "echo from the tool"}, "c1")), openai("the end")]
    ) as server:
        place.write_models(server.url)
        command = " ".join(map(shlex.quote, [*PIOLET, "--model", "stub/m1", "--tui-mode", "regular"]))
        argv = ["sh", "-c", f"echo before; {command}; echo after"]
        with Terminal(argv, cwd=place.cwd, env=place.environment(), columns=100, rows=24) as terminal:
            terminal.wait_for(READY, timeout=30)
            terminal.send("ask it\r")
            terminal.wait_for("the end")
            terminal.wait_for(lambda text: "Working" not in text)
            terminal.press("ctrl+d")
            terminal.wait_for("after")
            rows = everything(terminal)
            for text in ("before", "ask it", "the only answer", "from the tool", "the end", "after"):
                assert rows.count(text) == 1, (text, rows)
            assert rows.index("before") < rows.index("ask it") < rows.index("the end") < rows.index("after")
            assert any("To resume this session" in row for row in rows)
            assert not any("───" in row for row in rows), rows


def test_what_is_unfolded_is_printed_again_unfolded(place: Place) -> None:
    long = "seq 1 40 | sed 's/^/number /'"
    with ScriptedServer([openai(Call("bash", {"command": long}, "c1")), openai("the end")]) as server:
        place.write_models(server.url)
        with running(place, "--model", "stub/m1", "--tui-mode", "regular") as terminal:
            terminal.send("count\r")
            terminal.wait_for("the end")
            assert "number 3" not in everything(terminal)
            terminal.press("ctrl+o")
            terminal.wait_for("Tool output: expanded")
            rows = everything(terminal)
            assert [f"number {n}" for n in range(1, 36)] == [row for row in rows if row.startswith("number ")][5:40]
            assert rows.count("the end") == 1


def test_a_compaction_prints_its_summary_and_nothing_else_again(place: Place) -> None:
    place.write_settings({"compaction": {"keepRecentTokens": 1}})
    replies = [openai("first answer"), openai("second answer"), *[openai("all of it in short")] * 2]
    with ScriptedServer(replies) as server:
        place.write_models(server.url)
        with running(place, "--model", "stub/m1", "--tui-mode", "regular") as terminal:
            for prompt, answer in (("one", "first answer"), ("two", "second answer")):
                terminal.send(f"{prompt}\r")
                terminal.wait_for(answer)
                terminal.wait_for(lambda text: "Working" not in text)
            terminal.send("/compact\r")
            terminal.wait_for("[compaction]")
            rows = everything(terminal)
            for text in ("one", "first answer", "two", "second answer"):
                assert rows.count(text) == 1, (text, rows)


def test_another_program_gets_the_terminal_below_what_is_printed(place: Place) -> None:
    editor = place.cwd / "editor"
    editor.write_text('#!/bin/sh\necho "in the editor"\necho changed > "$1"\n')
    editor.chmod(0o755)
    with ScriptedServer([openai("an answer")]) as server:
        place.write_models(server.url)
        arguments = ("--model", "stub/m1", "--tui-mode", "regular")
        with running(place, *arguments, env={"EDITOR": str(editor)}) as terminal:
            terminal.send("ask\r")
            terminal.wait_for("an answer")
            terminal.wait_for(lambda text: "Working" not in text)
            terminal.press("ctrl+g")
            terminal.wait_for("\nchanged")
            terminal.wait_for(READY)
            rows = everything(terminal)
            assert rows.index("an answer") < rows.index("in the editor") < rows.index("changed")
            assert sum("────" in row for row in rows) == 2


def test_the_mode_is_chosen_in_the_settings_and_leaving_after_that_erases_nothing(place: Place) -> None:
    place.write_settings({"tuiMode": "regular"})
    with running(place, ready="no model") as terminal:
        assert b"\x1b[?1049h" not in terminal.output
        terminal.send("/hotkeys\r")
        terminal.wait_for("Search:")
        terminal.press("escape")
        terminal.wait_for(lambda text: "Search:" not in text)
        change_mode(terminal, "fullscreen")
        terminal.send("!seq 101 105\r")
        terminal.wait_for("\n 105")
        change_mode(terminal, "regular")
        terminal.press("ctrl+d")
        assert terminal.wait_for_exit() == 0
        rows = everything(terminal)
        assert [row for row in rows if re.fullmatch(r"10\d", row)] == ["101", "102", "103", "104", "105"]
        assert sum(row.startswith("piolet v") for row in rows) == 1, rows
        assert sum("────" in row for row in rows) == 2, rows  # of the command


@pytest.mark.parametrize("size", [(20, 10), (1, 1), (200, 2)])
def test_the_window_may_take_odd_sizes(place: Place, size: tuple[int, int]) -> None:
    with ScriptedServer([streamed(PARAGRAPHS)]) as server:
        place.write_models(server.url)
        with running(place, "--model", "stub/m1", "--tui-mode", "regular") as terminal:
            terminal.send("go\r")
            terminal.wait_for("par 1:")
            terminal.resize(*size)
            terminal.wait_for(lambda text: bool(text.strip()))
            terminal.resize(100, 30)
            terminal.wait_for("end29.")
            terminal.wait_for(READY)


def test_the_mode_can_be_changed_while_an_answer_comes_and_leaving_prints_nothing_twice(place: Place) -> None:
    with ScriptedServer([openai("first answer"), streamed(PARAGRAPHS), openai("third answer")]) as server:
        place.write_models(server.url)
        with running(place, "--model", "stub/m1", "--tui-mode", "regular") as terminal:
            terminal.send("one\r")
            terminal.wait_for("first answer")
            terminal.wait_for(lambda text: "Working" not in text)
            terminal.send("two\r")
            terminal.wait_for("par 1:")
            change_mode(terminal, "fullscreen")
            assert b"\x1b[?1049h" in terminal.output
            terminal.wait_for("end29.")
            terminal.wait_for(lambda text: "Working" not in text)
            terminal.press("pageup", "pageup", "pageup")
            terminal.wait_for("first answer")
            change_mode(terminal, "regular")
            terminal.send("three\r")
            terminal.wait_for("third answer")
            terminal.wait_for(lambda text: "Working" not in text)
            change_mode(terminal, "fullscreen")
            terminal.press("ctrl+d")
            assert terminal.wait_for_exit() == 0
            rows = everything(terminal)
            for text in ("one", "first answer", "two", "three", "third answer"):
                assert rows.count(text) == 1, (text, rows)
            check_paragraphs(" ".join(rows))


def change_mode(terminal: Terminal, mode: str) -> None:
    """Choose `mode`, which is the other one, in the settings."""
    terminal.send("/settings\r")
    terminal.wait_for("Search:")
    terminal.send("tui mode")
    terminal.wait_for("→ TUI mode")
    terminal.press("enter")
    terminal.wait_for(lambda text: re.search(rf"→ TUI mode +{mode}", text) is not None)
    terminal.press("escape")
    terminal.wait_for(lambda text: "Search:" not in text)
