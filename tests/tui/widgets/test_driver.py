from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.terminal import Terminal

ROOT = Path(__file__).parents[3]
PROGRAM = [sys.executable, "-m", "tests.tui.widgets.keys_app"]
ENV = {"PATH": "/usr/bin:/bin", "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", "LANG": "C.UTF-8"}


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    with Terminal(PROGRAM, cwd=ROOT, env=ENV, columns=60, rows=30) as terminal:
        terminal.wait_for("ready")
        yield terminal


def test_keys_of_every_protocol_arrive(terminal: Terminal) -> None:
    for data, name in (
        ("a", "a"),
        ("\x1b[27;2;13~", "shift+enter"),
        ("\x1b[112;6u", "ctrl+shift+p"),
        ("\x1b\x7f", "alt+backspace"),
        ("\x1f", "ctrl+-"),
        ("中", "中"),
    ):
        terminal.send(data)
        terminal.wait_for(f"key {name}")


def test_a_lone_escape_is_a_key_soon(terminal: Terminal) -> None:
    terminal.send("\x1b")
    terminal.wait_for("key escape")


def test_replies_of_the_terminal_are_not_typed(terminal: Terminal) -> None:
    terminal.send("\x1b]11;rgb:1e1e/1e1e/1e1e\x1b\\")
    terminal.wait_for("report '\\x1b]11;rgb:1e1e/1e1e/1e1e")
    assert "key" not in "\n".join(terminal.screen.display)


def test_a_paste_and_the_mouse_arrive(terminal: Terminal) -> None:
    terminal.send("\x1b[200~x\r\ny\x1b[201~\x1b[<0;5;3M")
    terminal.wait_for("paste 'x\\r\\ny'")
    terminal.wait_for("mouse 4,2")


def test_what_was_switched_on_is_switched_off(terminal: Terminal) -> None:
    terminal.send("q")
    assert terminal.process.wait(30) == 0
    output = terminal.output.decode(errors="replace")
    for on, off in (
        ("\x1b[?1049h", "\x1b[?1049l"),
        ("\x1b[?2004h", "\x1b[?2004l"),
        ("\x1b[?1003h", "\x1b[?1003l"),
        ("\x1b[?25l", "\x1b[?25h"),
        ("\x1b[>4;2m", "\x1b[>4;0m"),
    ):
        assert 0 <= output.find(on) < output.rfind(off)


def test_a_terminal_that_is_gone_ends_the_program_even_without_a_signal() -> None:
    master, slave = os.openpty()

    def take_terminal() -> None:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        os.login_tty(slave)

    process = subprocess.Popen(PROGRAM, cwd=ROOT, env=ENV | {"TERM": "xterm-256color"}, preexec_fn=take_terminal)
    os.close(slave)
    try:
        seen = b""
        while b"ready" not in seen:
            seen += os.read(master, 65536)
        os.close(master)
        assert process.wait(30) == 129
    finally:
        process.kill()
