"""Whatever happens, the terminal is given back as it was, and the program goes on if it can."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.modes.interactive.endurance import check_fault, check_flood, check_resizes, streaming, wait_until
from tests.modes.interactive.program import READY, running
from tests.support.replies import Call, openai
from tests.support.run import PIOLET, Place
from tests.support.server import ScriptedServer
from tests.support.terminal import Terminal
from tests.support.timing import patiently


def test_one_interrupt_stops_the_answer_and_the_program_goes_on(place: Place) -> None:
    with streaming(place) as (terminal, server):
        os.kill(terminal.process.pid, signal.SIGINT)
        terminal.wait_for("Operation aborted")
        server.wait_for_disconnects()
        terminal.send("still here")
        terminal.wait_for("\nstill here")


def test_ctrl_c_twice_leaves(place: Place) -> None:
    with running(place, "--model", "demo/scripted") as terminal:
        for draft in ("one", "two"):
            terminal.send(draft)
            terminal.wait_for(f"\n{draft}")
            terminal.press("ctrl+c")
            terminal.wait_for(lambda text, draft=draft: f"\n{draft}" not in text)  # type: ignore[misc]
            time.sleep(0.6)
        assert terminal.process.poll() is None
        terminal.send("\x03\x03")
        assert terminal.wait_for_exit() == 0


def test_a_fault_is_told_in_a_line_and_once_more_at_the_next_start(place: Place) -> None:
    text = check_fault(place)
    assert "ZeroDivisionError: a fault" in text
    assert "Traceback" not in text
    with running(place, "--model", "demo/scripted", ready="ended because of a fault the last time"):
        pass
    with running(place, "--model", "demo/scripted") as terminal:
        assert "because of a fault" not in terminal.text


@pytest.mark.parametrize("size", [(20, 10), (3, 40), (200, 2)])
def test_the_window_may_take_odd_sizes(place: Place, size: tuple[int, int]) -> None:
    check_resizes(place, [(7, 3), size, (100, 30), size])


def test_ten_megabytes_of_output_leave_the_keys_quick(place: Place) -> None:
    command = "yes 'a line of output that goes on and on' | head -c 10000000"
    patiently(lambda: check_flood(place, command, 2.0))


def test_escapes_from_models_tools_and_file_names_are_inert(place: Place) -> None:
    evil = "\x1b]0;pwned\x07\x1b[2J\x1b[31mred\x1b[0m\x1b[?1049l\x9b31m"
    (place.cwd / "na\x1b[2Jme\x07.txt").write_text("x")
    script = [
        openai(f"Model {evil} says", Call("bash", {"command": f"printf '{evil}tool'; ls -1"}, "c1")),
        openai("Done."),
    ]
    with ScriptedServer(script) as server:
        place.write_models(server.url)
        with running(place, "--model", "stub/m1") as terminal:
            start = len(terminal.output)
            terminal.send("go\r")
            terminal.wait_for("Done.")
            terminal.send("@na")
            terminal.wait_for("me.txt")
            terminal.press("escape")
            written = terminal.output[start:]
    for sequence in (b"pwned\x07", b"\x1b[2J", b"\x1b[31mred", b"\x1b[?1049l", b"\xc2\x9b"):
        assert sequence not in written


def test_a_file_behind_a_link_can_be_mentioned(place: Place, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/minutes.txt").touch()
    (place.cwd / "linked").symlink_to(tmp_path / "elsewhere")
    with running(place, "--model", "demo/scripted") as terminal:
        terminal.send("@minu")
        terminal.wait_for("linked/minutes.txt")
        terminal.send("\tis here")
        terminal.wait_for("@linked/minutes.txt is here")


def test_a_paste_whose_end_is_lost_does_not_take_the_keys_for_ever(place: Place) -> None:
    with running(place, "--model", "demo/scripted") as terminal:
        terminal.send("\x1b[200~begun")
        terminal.wait_for("begun")
        terminal.send(" and typed")
        terminal.wait_for("begun and typed")


def test_stray_output_is_shown_as_a_notice(place: Place) -> None:
    (place.agent / "extensions").mkdir(parents=True)
    code = (
        "import os, sys, threading, time\n"
        "def noise():\n"
        "    while True:\n"
        "        time.sleep(0.5)\n"
        "        print('printed by python')\n"
        "        os.write(2, b'written to \\x1b[2Jstderr\\n')\n"
        "threading.Thread(target=noise, daemon=True).start()\n"
        "from piolet.cli.main import main\n"
        "sys.exit(main(['--model', 'demo/scripted']))\n"
    )
    with Terminal([PIOLET[0], "-c", code], cwd=place.cwd, env=place.environment(), columns=100, rows=30) as terminal:
        terminal.wait_for(READY)
        terminal.wait_for("Warning: ")
        terminal.wait_for("printed by python")
        terminal.wait_for("written to stderr")
        assert "0.0%/128k" in terminal.lines[-1]


@pytest.mark.parametrize(
    "env",
    [
        {"TERM": "dumb"},
        {"TERM": "vt100"},
        {"LANG": "C", "LC_ALL": "C"},
        {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"NO_COLOR": ""},
        {"COLORTERM": ""},
    ],
    ids=["dumb", "vt100", "C", "ascii", "colors", "256"],
)
def test_poor_terminals_are_served(place: Place, env: dict[str, str]) -> None:
    with running(place, "--model", "demo/scripted", env=env) as terminal:
        terminal.send("hello\r")
        terminal.wait_for("A real model would now")
        rule = "---" if "PYTHONUTF8" in env else "───"  # a locale of ASCII alone means: not known
        assert rule in terminal.text
        assert "??" not in terminal.text
        terminal.press("ctrl+d")
        assert terminal.wait_for_exit() == 0


@pytest.mark.parametrize(
    ("env", "never", "ever"),
    [
        ({"NO_COLOR": "1"}, rb"[;\[][34][0-8]m|[34]8;|[;\[](9|10)[0-7]m", rb"\x1b\[1[;m]"),
        ({"NO_COLOR": "", "COLORTERM": ""}, rb"[34]8;2;", rb"[34]8;5;"),
        ({"NO_COLOR": "", "COLORTERM": "truecolor"}, rb"[34]8;5;", rb"[34]8;2;"),
    ],
    ids=["none", "256", "truecolor"],
)
def test_colours_are_those_that_the_terminal_can_show(
    place: Place, env: dict[str, str], never: bytes, ever: bytes
) -> None:
    place.write_settings({"theme": "dark"})
    with running(place, "--model", "demo/scripted", env=env) as terminal:
        terminal.send("# *hello* `x`\r")
        terminal.wait_for("A real model would now")
        terminal.send("/tree\r")
        terminal.wait_for("Session Tree")
        assert re.search(ever, terminal.output)
        assert not re.search(never, terminal.output)


@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
def test_it_works_within_tmux(place: Place) -> None:
    tmux = ["tmux", "-S", str(place.home / "tmux"), "-f", "/dev/null"]
    command = [*tmux, "new-session", shlex.join([*PIOLET, "--model", "demo/scripted"])]
    env = place.environment() | {"TMUX_TMPDIR": str(place.home)}
    with Terminal(command, cwd=place.cwd, env=env, columns=100, rows=30) as terminal:
        try:
            terminal.wait_for(READY)
            terminal.send("h\u00e9llo \u4e2d\u6587\r")
            terminal.wait_for("A real model would now")
            assert " h\u00e9llo \u4e2d" in terminal.text
            terminal.resize(60, 20)
            terminal.wait_for(lambda text: "\u2500" * 60 in text and "\u2500" * 61 not in text)
            terminal.press("ctrl+o")
            terminal.wait_for("Tool output: expanded")
            terminal.press("ctrl+d")
            assert terminal.wait_for_exit() == 0
        finally:
            subprocess.run([*tmux, "kill-server"], capture_output=True, check=False)


def test_a_program_that_was_put_to_sleep_goes_on_where_it_was(place: Place) -> None:
    with running(place, "--model", "demo/scripted") as terminal:
        terminal.send("a draft")
        terminal.wait_for("\na draft")
        terminal.press("ctrl+z")
        wait_until(lambda: state_of(terminal.process.pid) == "T")
        wait_until(lambda: terminal.output.rfind(b"\x1b[?1049l") > terminal.output.rfind(b"\x1b[?1049h"))
        os.kill(terminal.process.pid, signal.SIGCONT)
        terminal.wait_for("\na draft")
        terminal.send(" goes on")
        terminal.wait_for("\na draft goes on")


def test_an_external_editor_has_the_terminal_meanwhile(place: Place) -> None:
    editor = place.home / "editor"
    editor.write_text('#!/bin/sh\ntest -t 0 && test -t 1 && test -t 2 && echo "edited $(cat "$1")" > "$1"; sleep 0.5\n')
    editor.chmod(0o755)
    with running(place, "--model", "demo/scripted", env={"VISUAL": str(editor)}) as terminal:
        terminal.send("draft")
        terminal.wait_for("\ndraft")
        terminal.press("ctrl+g")
        terminal.wait_for("\nedited draft")
        terminal.send("!")
        terminal.wait_for("\nedited draft!")
        editor.unlink()
        terminal.press("ctrl+g")
        terminal.wait_for(lambda text: "No such file or directory" in " ".join(text.split()))  # after a long path
        terminal.send("?")
        terminal.wait_for("\nedited draft!?")


def state_of(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0]
