"""What a terminal may do to the program, as checks that tests and cases share."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import termios
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.modes.interactive.program import READY, running
from tests.support.replies import Call, openai
from tests.support.run import PIOLET, Place
from tests.support.server import Reply, ScriptedServer
from tests.support.terminal import Terminal
from tests.support.timing import within

ENDLESS: Reply = {"stream": [{"delta": {"content": "On and on"}}, {"sleep_ms": 60_000}]}
#: Every mode that is switched on, and how it is switched off.
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
SIGNALS: Mapping[str, tuple[Sequence[signal.Signals], int]] = {
    "TERM": ([signal.SIGTERM], 143),
    "HUP": ([signal.SIGHUP], 129),
    "INT twice": ([signal.SIGINT, signal.SIGINT], 130),
}
_BROKEN = """
import sys
from piolet.modes.interactive.submission import Submission
def broken(self, behavior="steer"):
    raise ZeroDivisionError("a fault")
Submission.submit = broken
from piolet.cli.main import main
sys.exit(main(["--model", "demo/scripted"]))
"""


@contextmanager
def streaming(place: Place) -> Iterator[tuple[Terminal, ScriptedServer]]:
    """Run the program while an answer streams without end."""
    with ScriptedServer([ENDLESS]) as server:
        place.write_models(server.url)
        with running(place, "--model", "stub/m1") as terminal:
            terminal.send("go\r")
            terminal.wait_for("On and on")
            yield terminal, server


def check_signals(place: Place, name: str) -> None:
    """Signals end the program: the terminal is restored, what runs is killed, the session is whole."""
    signals, code = SIGNALS[name]
    with ScriptedServer([openai("I wait.", Call("bash", {"command": "echo $$ > pid; sleep 60"}))]) as server:
        place.write_models(server.url)
        with terminal_before_start(place, [*PIOLET, "--model", "stub/m1"]) as (terminal, before):
            terminal.send("go\r")
            terminal.wait_for("sleep 60")
            child = int(wait_until(lambda: _text(place.cwd / "pid")))
            for number in signals:
                os.kill(terminal.process.pid, number)
                time.sleep(0.05)
            assert terminal.wait_for_exit() in (code, -code)
            check_restored(terminal, before)
            wait_until(lambda: not _alive(child))
    check_whole(place.sessions()[0])


def check_fault(place: Place) -> str:
    """A fault of the program restores the terminal and is told in a line; return what is on the screen then."""
    with terminal_before_start(place, [PIOLET[0], "-c", _BROKEN]) as (terminal, before):
        terminal.send("go\r")
        assert terminal.wait_for_exit() == 1
        check_restored(terminal, before)
        return terminal.text


def check_gone(place: Place, seconds: float) -> None:
    """A terminal that disappears while an answer streams ends the program, with all that it has started."""
    with ScriptedServer([ENDLESS]) as server:
        place.write_models(server.url)
        master, slave = os.openpty()

        def take_terminal() -> None:
            signal.signal(signal.SIGHUP, signal.SIG_IGN)  # the loss itself must be noticed
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
            closed = time.monotonic()
            assert process.wait(60) == 129
            within(time.monotonic() - closed, seconds)
        finally:
            process.kill()
        server.wait_for_disconnects()
    check_whole(place.sessions()[0])


def check_resizes(place: Place, sizes: Sequence[tuple[int, int]]) -> None:
    """The window may take any size while an answer streams."""
    words = "中文 and 👩‍👩‍👧 é words | " * 200
    steps = [{"delta": {"content": words[n : n + 10]}} for n in range(0, len(words), 10)]
    slow: Reply = {"stream": [step for one in steps for step in (one, {"sleep_ms": 5})]}
    with ScriptedServer([slow]) as server:
        place.write_models(server.url)
        with running(place, "--model", "stub/m1", "go") as terminal:
            terminal.wait_for("中文")
            for size in sizes:
                terminal.resize(*size)
                time.sleep(0.2)
            columns, rows = sizes[-1]
            if columns >= 40 and rows >= 10:
                terminal.wait_for(READY)
                assert all(len(line) <= columns for line in terminal.lines)
            terminal.resize(100, 30)
            terminal.wait_for(READY)
            terminal.wait_for("words |")
            assert terminal.process.poll() is None


def check_large_paste(place: Place, count: int, seconds: float) -> None:
    """Many pasted lines are a marker in the editor and are sent whole."""
    text = "".join(f"line {n}\n" for n in range(count))
    with ScriptedServer([openai("Got it.")]) as server:
        place.write_models(server.url)
        with running(place, "--model", "stub/m1") as terminal:
            begun = time.monotonic()
            terminal.send(f"\x1b[200~{text}\x1b[201~")
            terminal.wait_for(f"[paste #1 +{count + 1} lines]")
            within(time.monotonic() - begun, seconds)
            assert "line 5" not in terminal.text
            terminal.send("x")
            terminal.wait_for("lines]x")
            terminal.press("backspace")
            terminal.send("\r")
            terminal.wait_for("Got it.")
        content = server.requests[0].body["messages"][-1]["content"]
        sent = content if isinstance(content, str) else content[0]["text"]
        assert sent == text.strip()


def check_pieces(place: Place, pieces: Sequence[bytes]) -> None:
    """A character whose bytes come one after the other is one."""
    with running(place, "--model", "demo/scripted") as terminal:
        for piece in pieces:
            os.write(terminal._master, piece)
            time.sleep(0.2)
        terminal.wait_for("\n" + b"".join(pieces).decode())


def check_interrupt_key(place: Place) -> None:
    """Ctrl+C clears what was typed; without text it stops the answer."""
    with streaming(place) as (terminal, server):
        terminal.send("draft")
        terminal.wait_for("\ndraft")
        terminal.press("ctrl+c")
        terminal.wait_for(lambda text: "draft" not in text)
        time.sleep(1)
        assert not server.disconnects
        terminal.press("ctrl+c")
        terminal.wait_for("Operation aborted")
        server.wait_for_disconnects()
        terminal.send("usable")
        terminal.wait_for("\nusable")
    message = json.loads(place.sessions()[0].read_text().splitlines()[-1])["message"]
    assert message["stopReason"] == "aborted"


def check_flood(place: Place, command: str, seconds: float) -> None:
    """Keys are quick while a tool prints, and when all of it is unfolded."""
    with ScriptedServer([openai("I print.", Call("bash", {"command": command})), openai("Done.")]) as server:
        place.write_models(server.url)
        with running(place, "--model", "stub/m1") as terminal:
            terminal.send("go\r")
            terminal.wait_for("$ ")
            _type(terminal, "quick", "\nquick", seconds)
            terminal.wait_for("Done.")
            terminal.press("ctrl+o")
            terminal.wait_for("Tool output: expanded")
            _type(terminal, "er", "\nquicker", seconds)


def _type(terminal: Terminal, text: str, expected: str, seconds: float) -> None:
    """Type, and see it within `seconds`."""
    begun = time.monotonic()
    terminal.send(text)
    terminal.wait_for(expected)
    within(time.monotonic() - begun, seconds)


# ---------------------------------------------------------------------------------------------------------- the ground


@contextmanager
def terminal_before_start(place: Place, argv: Sequence[str]) -> Iterator[tuple[Terminal, list[object]]]:
    """Run `argv` until it takes prompts; give the terminal and its settings from before."""
    with Terminal(argv, cwd=place.cwd, env=place.environment(), columns=100, rows=30) as terminal:
        before = termios.tcgetattr(terminal._master)
        terminal.wait_for(READY)
        yield terminal, before


def check_restored(terminal: Terminal, before: list[object]) -> None:
    """Every mode that was switched on is off, and the line settings are those from before."""
    output = terminal.output.decode(errors="replace")
    for on, off in MODES:
        assert 0 <= output.find(on) < output.rfind(off), f"{on!r} is not undone"
    assert termios.tcgetattr(terminal._master) == before


def check_whole(session: Path) -> None:
    """Every line of a session is JSON, the first its header."""
    lines = [json.loads(line) for line in session.read_text().splitlines()]
    assert lines[0]["type"] == "session"


def wait_until(done: Callable[[], object], seconds: float = 60) -> str:
    """Return what `done` gives, as soon as that is true, as text."""
    end = time.monotonic() + seconds
    while not (found := done()):
        assert time.monotonic() < end, "it does not come"
        time.sleep(0.02)
    return str(found)


def _text(path: Path) -> str:
    return path.read_text().strip() if path.is_file() else ""


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] != "Z"
    except OSError:
        return False
