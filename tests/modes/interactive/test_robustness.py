"""Whatever happens, the terminal is given back as it was and the session is whole."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.modes.interactive.program import READY, running
from tests.support.replies import Call, openai
from tests.support.run import PIOLET, Place
from tests.support.server import Reply, ScriptedServer
from tests.support.terminal import Terminal

ENDLESS: Reply = {"stream": [{"delta": {"content": "On and on"}}, {"sleep_ms": 60_000}]}
MODES = (
    ("\x1b[?1049h", "\x1b[?1049l"),
    ("\x1b[?2004h", "\x1b[?2004l"),
    ("\x1b[?1000h", "\x1b[?1000l"),
    ("\x1b[?1003h", "\x1b[?1003l"),
    ("\x1b[?1006h", "\x1b[?1006l"),
    ("\x1b[?1004h", "\x1b[?1004l"),
    ("\x1b[?25l", "\x1b[?25h"),
    ("\x1b[>4;2m", "\x1b[>4;0m"),
    ("\x1b[22;0t", "\x1b[23;0t"),
)


@contextmanager
def streaming(place: Place, *, tool: bool = False) -> Iterator[tuple[Terminal, ScriptedServer]]:
    """The program while an answer streams, or while a tool runs that would run for a minute."""
    script = [openai("I wait.", Call("bash", {"command": "echo $$ > pid; sleep 60"})), ENDLESS] if tool else [ENDLESS]
    with ScriptedServer(script) as server:
        place.write_models(server.url)
        with running(place, "--model", "stub/m1") as terminal:
            terminal.send("go\r")
            terminal.wait_for("sleep 60" if tool else "On and on")
            yield terminal, server


def is_restored(terminal: Terminal, before: list[object]) -> None:
    output = terminal.output.decode(errors="replace")
    for on, off in MODES:
        assert 0 <= output.find(on) < output.rfind(off), f"{on!r} is not undone"
    assert settings(terminal) == before


def settings(terminal: Terminal) -> list[object]:
    return termios.tcgetattr(terminal._master)


@pytest.mark.parametrize(
    ("signals", "code"),
    [
        ([signal.SIGTERM], 143),
        ([signal.SIGHUP], 129),
        ([signal.SIGINT, signal.SIGINT], 130),
    ],
    ids=["term", "hup", "int-twice"],
)
def test_signals_restore_the_terminal_and_kill_what_runs(place: Place, signals: list[int], code: int) -> None:
    with ScriptedServer([openai("I wait.", Call("bash", {"command": "echo $$ > pid; sleep 60"}))]) as server:
        place.write_models(server.url)
        with Terminal(
            [*PIOLET, "--model", "stub/m1"], cwd=place.cwd, env=place.environment(), columns=100, rows=30
        ) as terminal:
            before = settings(terminal)
            terminal.wait_for(READY, timeout=30)
            terminal.send("go\r")
            terminal.wait_for("sleep 60")
            wait_until(lambda: (place.cwd / "pid").is_file() and (place.cwd / "pid").read_text().strip() != "")
            child = int((place.cwd / "pid").read_text())
            for number in signals:
                os.kill(terminal.process.pid, number)
                time.sleep(0.05)
            assert terminal.wait_for_exit() in (code, -code)
            is_restored(terminal, before)
            wait_until(lambda: not alive(child))
    assert is_whole(place.sessions()[0])


def test_one_interrupt_stops_the_answer_and_the_program_goes_on(place: Place) -> None:
    with streaming(place) as (terminal, server):
        os.kill(terminal.process.pid, signal.SIGINT)
        terminal.wait_for("Operation aborted")
        server.wait_for_disconnects()
        terminal.send("still here")
        terminal.wait_for("\nstill here")


def test_ctrl_c_clears_the_text_first_then_stops_the_answer(place: Place) -> None:
    with streaming(place) as (terminal, server):
        terminal.send("draft")
        terminal.wait_for("\ndraft")
        terminal.press("ctrl+c")
        terminal.wait_for(lambda text: "draft" not in text)
        time.sleep(0.5)
        assert not server.disconnects
        terminal.press("ctrl+c")
        terminal.wait_for("Operation aborted")
        server.wait_for_disconnects()
        assert terminal.process.poll() is None
    message = json.loads(place.sessions()[0].read_text().splitlines()[-1])["message"]
    assert message["stopReason"] == "aborted"


def test_ctrl_c_twice_leaves(place: Place) -> None:
    with running(place, "--model", "demo/scripted") as terminal:
        terminal.press("ctrl+c")
        time.sleep(0.8)
        terminal.press("ctrl+c")
        time.sleep(0.1)
        assert terminal.process.poll() is None
        terminal.press("ctrl+c")
        assert terminal.wait_for_exit() == 0


def test_a_terminal_that_is_gone_ends_the_program(place: Place) -> None:
    with ScriptedServer([ENDLESS]) as server:
        place.write_models(server.url)
        master, slave = os.openpty()

        def take_terminal() -> None:
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
            os.login_tty(slave)

        process = subprocess.Popen(
            [*PIOLET, "--model", "stub/m1", "go"],
            cwd=place.cwd,
            env=place.environment() | {"TERM": "xterm-256color"},
            preexec_fn=take_terminal,
        )
        os.close(slave)
        try:
            seen = b""
            while b"On and on" not in seen:
                seen += os.read(master, 65536)
            os.close(master)
            assert process.wait(5) == 129
        finally:
            process.kill()
        server.wait_for_disconnects()
    assert is_whole(place.sessions()[0])


def test_a_fault_restores_the_terminal_and_is_reported(place: Place) -> None:
    crash = (
        "import sys\n"
        "from piolet.modes.interactive.submission import Submission\n"
        "def broken(self, behavior='steer'): raise ZeroDivisionError('a fault')\n"
        "Submission.submit = broken\n"
        "from piolet.cli.main import main\n"
        "sys.exit(main(['--model', 'demo/scripted']))\n"
    )
    with Terminal([PIOLET[0], "-c", crash], cwd=place.cwd, env=place.environment(), columns=100, rows=30) as terminal:
        before = settings(terminal)
        terminal.wait_for(READY, timeout=30)
        terminal.send("go\r")
        assert terminal.wait_for_exit() == 1
        is_restored(terminal, before)
        assert "ZeroDivisionError: a fault" in terminal.text
        assert "Traceback" not in terminal.text
    with running(place, "--model", "demo/scripted", ready="ended because of a fault the last time") as terminal:
        pass
    with running(place, "--model", "demo/scripted") as terminal:
        assert "because of a fault" not in terminal.text


@pytest.mark.parametrize("size", [(80, 24), (20, 5), (20, 10), (1, 1), (200, 60)])
def test_the_window_may_change_at_any_moment(place: Place, size: tuple[int, int]) -> None:
    words = "中文 and 👩‍👩‍👧 é words | " * 200
    steps = [{"delta": {"content": words[n : n + 10]}} for n in range(0, len(words), 10)]
    slow: Reply = {"stream": [step for one in steps for step in (one, {"sleep_ms": 5})]}
    with ScriptedServer([slow, openai("Done.")]) as server:
        place.write_models(server.url)
        with running(place, "--model", "stub/m1", "go") as terminal:
            terminal.wait_for("中文")
            for other in ((7, 3), size, (3, 40), size):
                terminal.resize(*other)
                time.sleep(0.15)
            terminal.resize(100, 30)
            terminal.wait_for("words |")
            terminal.resize(*size)
            time.sleep(0.3)
            terminal.resize(100, 30)
            terminal.wait_for(READY)
            assert terminal.process.poll() is None


def test_a_hundred_thousand_lines_are_pasted_and_sent(place: Place) -> None:
    text = "".join(f"line {n}\n" for n in range(100_000))
    with ScriptedServer([openai("Got it.")]) as server:
        place.write_models(server.url)
        with running(place, "--model", "stub/m1") as terminal:
            begun = time.monotonic()
            terminal.send(f"\x1b[200~{text}\x1b[201~")
            terminal.wait_for("[paste #1 +100001 lines]")
            assert time.monotonic() - begun < 3
            assert "line 5" not in terminal.text
            terminal.send("x")
            terminal.wait_for("lines]x")
            terminal.press("backspace")
            terminal.send("\r")
            terminal.wait_for("Got it.", timeout=20)
        content = server.requests[0].body["messages"][-1]["content"]
        sent = content if isinstance(content, str) else content[0]["text"]
        assert sent == text.strip()


def test_what_a_paste_holds_is_text(place: Place) -> None:
    with ScriptedServer([openai("Got it.")]) as server:
        place.write_models(server.url)
        with running(place, "--model", "stub/m1") as terminal:
            terminal.send("\x1b[200~a\r\nb\tc\x1b[31md\0e\x1b[201~")
            terminal.wait_for("\nb ")
            terminal.send("\r")
            terminal.wait_for("Got it.")
        assert "a\\nb\\tcde" in json.dumps(server.requests[0].body)


def test_a_character_that_comes_in_pieces_is_one(place: Place) -> None:
    with running(place, "--model", "demo/scripted") as terminal:
        os.write(terminal._master, b"\xe4")
        time.sleep(0.2)
        os.write(terminal._master, b"\xb8\xad")
        terminal.wait_for("\n中")


@pytest.mark.parametrize(
    "command",
    [
        "head -c 2000000 /dev/zero | tr '\\0' x",
        "yes 'a line of output that goes on and on' | head -c 10000000",
    ],
    ids=["one line of 2 MB", "10 MB"],
)
def test_much_output_leaves_the_keys_quick(place: Place, command: str) -> None:
    with ScriptedServer([openai("I print.", Call("bash", {"command": command})), openai("Done.")]) as server:
        place.write_models(server.url)
        with running(place, "--model", "stub/m1") as terminal:
            terminal.send("go\r")
            terminal.wait_for("$ ")
            begun = time.monotonic()
            terminal.send("quick")
            terminal.wait_for("\nquick", timeout=1.5)
            terminal.wait_for("Done.", timeout=20)
            begun = time.monotonic()
            terminal.press("ctrl+o")
            terminal.wait_for("Tool output: expanded")
            terminal.send("er")
            terminal.wait_for("\nquicker")
            assert time.monotonic() - begun < 2


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
        terminal.wait_for(READY, timeout=30)
        terminal.wait_for("Warning: ")
        terminal.wait_for("printed by python")
        terminal.wait_for("written to stderr")
        assert "escape interrupt" in terminal.text


@pytest.mark.parametrize(
    "env",
    [
        {"TERM": "dumb"},
        {"TERM": "vt100"},
        {"LANG": "C", "LC_ALL": "C"},
        {"LANG": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "LC_ALL": "POSIX"},
        {"NO_COLOR": ""},
        {"COLORTERM": ""},
    ],
    ids=["dumb", "vt100", "C", "ascii", "colors", "256"],
)
def test_poor_terminals_are_served(place: Place, env: dict[str, str]) -> None:
    with running(place, "--model", "demo/scripted", env=env) as terminal:
        terminal.send("hello\r")
        terminal.wait_for("A real model would now")
        terminal.press("ctrl+d")
        assert terminal.wait_for_exit() == 0


def is_whole(session: Path) -> bool:
    lines = session.read_text().splitlines()
    return all(json.loads(line) for line in lines) and json.loads(lines[0])["type"] == "session"


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().split(") ")[1][0] != "Z"


def wait_until(done: object, seconds: float = 10) -> None:
    end = time.monotonic() + seconds
    while not done():  # type: ignore[operator]
        assert time.monotonic() < end, "it does not come"
        time.sleep(0.02)
