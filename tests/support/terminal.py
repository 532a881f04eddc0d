"""A terminal for tests: a command in a pseudo-terminal, its output on a screen that can be read, keys to press."""

from __future__ import annotations

import contextlib
import copy
import fcntl
import functools
import math
import os
import re
import select
import signal
import struct
import subprocess
import termios
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any, Self

import pyte

KEYS = {
    "enter": "\r",
    "escape": "\x1b",
    "tab": "\t",
    "shift+tab": "\x1b[Z",
    "backspace": "\x7f",
    "delete": "\x1b[3~",
    "up": "\x1b[A",
    "down": "\x1b[B",
    "right": "\x1b[C",
    "left": "\x1b[D",
    "home": "\x1b[H",
    "end": "\x1b[F",
    "pageup": "\x1b[5~",
    "pagedown": "\x1b[6~",
} | {f"ctrl+{letter}": chr(ord(letter) - 96) for letter in "abcdefghijklmnopqrstuvwxyz"}

ALTERNATE_SCREEN = 1049
_PAUSE, _LONGEST = 0.01, 0.1  # seconds: between two frames; of output that does not pause

# What pyte would misread: parameters that begin with <, = or >, intermediate bytes, colons, and strings other than OSC.
_BEYOND_PYTE = re.compile(
    rb"\x1b\[[<=>][0-?]*[ -/]*[@-~]|\x1b\[[0-?]*[ -/]+[@-~]|\x1b\[[0-9;]*:[0-9;:]*[@-~]|\x1b[PX^_].*?(?:\x1b\\|\x07)",
    re.DOTALL,
)
_INCOMPLETE = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*|[PX^_](?:(?!\x1b\\|\x07).)*)?\Z", re.DOTALL)


class _Screen(pyte.HistoryScreen):
    """A screen that answers what programs ask a terminal (device attributes, cursor position), and has an alternate
    one."""

    answer: Callable[[str], None]
    _main: tuple[Any, int, int, list[Any]] | None = None  # rows, cursor and history meanwhile

    def set_mode(self, *modes: int, **private: Any) -> None:
        super().set_mode(*modes, **private)
        if private and ALTERNATE_SCREEN in modes and self._main is None:
            self._main = copy.deepcopy(self.buffer), self.cursor.x, self.cursor.y, list(self.history.top)
            self.erase_in_display(2)

    def reset_mode(self, *modes: int, **private: Any) -> None:
        super().reset_mode(*modes, **private)
        if private and ALTERNATE_SCREEN in modes and self._main is not None:
            buffer, self.cursor.x, self.cursor.y, history = self._main
            self.buffer.clear()
            self.buffer.update(buffer)
            self.history.top.clear()
            self.history.top.extend(history)
            self._main = None

    def write_process_input(self, data: str) -> None:
        self.answer(data)

    def resize(self, lines: int | None = None, columns: int | None = None) -> None:
        """Lose rows as terminals do: first those below the cursor, then those at the top, which go into the history."""
        lines = lines or self.lines
        cursor = self.cursor.y
        above = max(0, cursor + 1 - lines)
        self.cursor.y = self.lines - 1
        for _ in range(above):
            self.index()
        self.cursor.y = cursor - above
        for y in range(lines, self.lines):
            self.buffer.pop(y, None)
        self.lines = min(self.lines, lines)
        super().resize(lines, columns)

    def report_device_status(self, mode: int, **private: Any) -> None:
        if not private:
            super().report_device_status(mode)


class Terminal:
    """Runs `argv` on a screen of `columns` x `rows` until it is left as a context manager, which kills the command.
    The system knows of cells of `cell` pixels; (0, 0): it does not. `answers`: what else the terminal answers, by what
    it is asked."""

    def __init__(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        columns: int = 80,
        rows: int = 24,
        cell: tuple[int, int] = (0, 0),
        answers: Mapping[bytes, str] = MappingProxyType({}),
    ) -> None:
        self._cell = cell
        self._answers = answers
        self.output = b""  # everything that was written, as it was
        self.screen = _Screen(columns, rows, history=10_000, ratio=0.5)
        self.screen.answer = self.send
        self._stream = pyte.ByteStream(self.screen)
        self._unfed = b""
        self._ended = False
        self._changed = threading.Condition()
        self._master, slave = os.openpty()
        self._set_size(columns, rows)
        self.process = subprocess.Popen(
            argv,
            cwd=cwd,
            env={"TERM": "xterm-256color", "COLORTERM": "truecolor"} | dict(env),
            preexec_fn=functools.partial(os.login_tty, slave),
        )
        os.close(slave)
        self._reader = threading.Thread(target=self._read, name="terminal")

    def __enter__(self) -> Self:
        self._reader.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self._reader.join()
        os.close(self._master)

    @property
    def lines(self) -> list[str]:
        """The lines on the screen, without spaces at their ends."""
        with self._changed:
            return [self._text_of(self.screen.buffer[y]) for y in range(self.screen.lines)]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    @property
    def history(self) -> list[str]:
        """The lines that have left the screen at its top, oldest first."""
        with self._changed:
            return [self._text_of(line) for line in self.screen.history.top]

    @property
    def all_lines(self) -> list[str]:
        """`history` and `lines`, as they are at one moment."""
        with self._changed:
            return [*self.history, *self.lines]

    def _text_of(self, line: Mapping[int, Any]) -> str:
        return "".join(line[x].data for x in range(self.screen.columns)).rstrip()

    def colors_of(self, text: str) -> list[str]:
        """Return the colour of each letter of the last `text` on the screen, as six digits or a name; none: it is not
        there."""
        with self._changed:
            for y in reversed(range(self.screen.lines)):
                row = self.screen.buffer[y]
                at = self._text_of(row).find(text)
                if at >= 0:
                    return [str(row[x].fg) for x in range(at, at + len(text))]
        return []

    def send(self, text: str) -> None:
        """Send characters as if typed or pasted."""
        os.write(self._master, text.encode())

    def press(self, *keys: str) -> None:
        """Press keys by their names in `KEYS`; any other text is typed."""
        for key in keys:
            self.send(KEYS.get(key, key))

    def resize(self, columns: int, rows: int) -> None:
        with self._changed:
            self.screen.resize(rows, columns)
        self._set_size(columns, rows)

    def wait_for(self, expected: str | Callable[[str], bool], timeout: float = 30) -> str:
        """Wait until the screen's text has, or fulfils, `expected`; return the text.

        Raises AssertionError with the screen when `timeout` seconds are over or the command has ended without it.
        """
        done = expected if callable(expected) else lambda text: expected in text
        text = ""

        def settled() -> bool:
            nonlocal text
            text = self.text
            return done(text) or self._ended

        with self._changed:
            self._changed.wait_for(settled, timeout)
        if not done(text):
            state = f"{timeout} s are over"
            if self._ended:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self.process.wait(30)
                state = f"it has ended with {self.process.poll()}"
            raise AssertionError(f"{expected!r} is not on the screen, and {state}:\n{text}")
        return text

    def wait_for_exit(self, timeout: float = 30) -> int:
        """Return the exit code of the command, minus the number of a signal that ended it, when all output is there."""
        code = self.process.wait(timeout)
        self._reader.join(timeout)
        return code

    def _set_size(self, columns: int, rows: int) -> None:
        pixels = columns * self._cell[0], rows * self._cell[1]
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, *pixels))

    def _read(self) -> None:
        while chunk := self._read_frame():
            with self._changed:
                self._feed(chunk)
                self._changed.notify_all()
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def _read_frame(self) -> bytes:
        """Return what is written without a pause: nobody is to see the half of a frame. Empty at the end."""
        frame = b""
        deadline = math.inf
        with contextlib.suppress(OSError):  # EIO: nobody has the other side open any more
            while not frame or (time.monotonic() < deadline and select.select([self._master], [], [], _PAUSE)[0]):
                chunk = os.read(self._master, 65536)
                if not chunk:
                    break
                if not frame:
                    deadline = time.monotonic() + _LONGEST
                frame += chunk
        return frame

    def _feed(self, chunk: bytes) -> None:
        before, self.output = len(self.output), self.output + chunk
        for query, answer in self._answers.items():
            for _ in range(self.output.count(query, max(0, before - len(query) + 1))):
                self.send(answer)
        data = _BEYOND_PYTE.sub(b"", self._unfed + chunk)
        incomplete = _INCOMPLETE.search(data)
        end = incomplete.start() if incomplete else len(data)
        self._unfed = data[end:]
        self._stream.feed(data[:end])
