from __future__ import annotations

import sys

import pytest

from tests.support.run import Place
from tests.support.terminal import Terminal


def python(place: Place, code: str, **size: int) -> Terminal:
    return Terminal([sys.executable, "-c", code], cwd=place.cwd, env=place.environment(), **size)


def test_the_command_has_a_terminal_and_its_output_is_on_the_screen(place: Place) -> None:
    code = "import os, sys; print(sys.stdin.isatty(), os.get_terminal_size(), os.ttyname(0) == os.ctermid() or 'tty')"
    with python(place, code, columns=100, rows=30) as terminal:
        text = terminal.wait_for("True os.terminal_size(columns=100, lines=30)")
        assert terminal.wait_for_exit() == 0
    assert len(text.split("\n")) == 30


def test_keys_arrive_and_ctrl_c_interrupts(place: Place) -> None:
    code = """
import time
print("name?", input())
try:
    print("ready")
    time.sleep(60)
except KeyboardInterrupt:
    print("interrupted")
    raise SystemExit(130)
"""
    with python(place, code) as terminal:
        terminal.press("Ada", "enter")
        terminal.wait_for("name? Ada")
        terminal.wait_for("ready")
        terminal.press("ctrl+c")
        terminal.wait_for("interrupted")
        assert terminal.wait_for_exit() == 130


def test_queries_are_answered(place: Place) -> None:
    code = """
import sys, tty
tty.setraw(0)
sys.stdout.write("abc\\x1b[6n"); sys.stdout.flush()
answer = ""
while not answer.endswith("R"):
    answer += sys.stdin.read(1)
sys.stdout.write(repr(answer)); sys.stdout.flush()
"""
    with python(place, code) as terminal:
        terminal.wait_for(r"abc'\x1b[1;4R'")


@pytest.mark.parametrize(
    "sequence",
    [
        r"\x1b[>1u",
        r"\x1b[?2026$p",
        r"\x1b[4:3m",
        r"\x1b[2 q",
        r"\x1b_Ga=q;AAAA\x1b\\",
        r"\x1bP+q544e\x1b\\",
        r"\x1b[=1;2u",
    ],
)
def test_sequences_that_a_plain_terminal_ignores_leave_no_trace(place: Place, sequence: str) -> None:
    code = f"""
import sys, time
for byte in b"[{sequence}]":
    sys.stdout.buffer.write(bytes([byte])); sys.stdout.flush(); time.sleep(0.001)
"""
    with python(place, code) as terminal:
        terminal.wait_for_exit()
        assert terminal.lines[0] == "[]"


def test_a_resize_reaches_screen_and_command(place: Place) -> None:
    code = """
import os, signal
signal.signal(signal.SIGWINCH, lambda *_: os.write(1, repr(os.get_terminal_size()).encode()))
print("ready", flush=True)
while True:
    signal.pause()
"""
    with python(place, code) as terminal:
        terminal.wait_for("ready")
        terminal.resize(50, 10)
        terminal.wait_for("columns=50, lines=10")
        assert len(terminal.lines) == 10


def test_lines_that_scroll_off_are_history(place: Place) -> None:
    with python(place, "for n in range(40): print('line', n)", rows=10) as terminal:
        terminal.wait_for("line 39")
        assert terminal.history == [f"line {n}" for n in range(31)]


def test_waiting_in_vain_shows_the_screen(place: Place) -> None:
    with (
        python(place, "print('only this')") as terminal,
        pytest.raises(AssertionError, match=r"ended with 0(?s:.*)only this"),
    ):
        terminal.wait_for("something else")
