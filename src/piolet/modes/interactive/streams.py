"""The terminal for us alone: what anything else prints to standard output or error is caught and shown as a notice."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

from piolet.tui.substitutes import SUBSTITUTES
from piolet.tui.text import safe_for_terminal

KEPT_LINES = 20  # of what was printed since the last notice
_CHUNK = 65536


class Streams:
    """While entered, descriptor 1 (and 2, if it is a terminal) lead into a pipe; `terminal` is where the screen is.

    `on_text` is called in the event loop with what was printed meanwhile, its escape sequences removed.
    """

    def __init__(self, on_text: Callable[[str], None]) -> None:
        self._on_text = on_text
        self._terminal_fd = os.dup(1)
        self.terminal: TextIO = open(  # noqa: SIM115  # lives as long as the screen
            self._terminal_fd, "w", encoding=sys.stdout.encoding, errors=SUBSTITUTES, newline=""
        )
        self._caught = [fd for fd in (1, 2) if os.isatty(fd)]
        self._before: dict[int, int] = {}
        self._lines: deque[str] = deque(maxlen=KEPT_LINES)
        self._dropped = 0
        self._told = True
        self._lock = threading.Lock()

    def __enter__(self) -> Streams:
        self._loop = asyncio.get_running_loop()
        reading, self._writing = os.pipe()
        self._before = {fd: os.dup(fd) for fd in self._caught}
        self._divert()
        threading.Thread(target=self._read, args=(reading,), name="stray-output", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._restore()
        for fd in self._before.values():
            os.close(fd)
        os.close(self._writing)
        with suppress(OSError):
            self.terminal.flush()

    @contextmanager
    def lent(self) -> Iterator[None]:
        """Give the terminal to another program meanwhile."""
        self._restore()
        try:
            yield
        finally:
            self._divert()

    def _divert(self) -> None:
        _flush()
        for fd in self._before:
            os.dup2(self._writing, fd)

    def _restore(self) -> None:
        _flush()
        for fd, before in self._before.items():
            os.dup2(before, fd)

    def _read(self, reading: int) -> None:
        rest = b""
        while data := os.read(reading, _CHUNK):
            *whole, rest = (rest + data).split(b"\n")
            if not whole and len(rest) > _CHUNK:
                whole, rest = [rest], b""
            if whole:
                self._keep([line.decode("utf-8", "replace") for line in whole])
        if rest:
            self._keep([rest.decode("utf-8", "replace")])
        os.close(reading)

    def _keep(self, lines: list[str]) -> None:
        with self._lock:
            self._dropped += max(0, len(self._lines) + len(lines) - KEPT_LINES)
            self._lines.extend(lines)
            told, self._told = self._told, False
        if told:
            with suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(self._tell)

    def _tell(self) -> None:
        with self._lock:
            lines, dropped = list(self._lines), self._dropped
            self._lines.clear()
            self._dropped, self._told = 0, True
        text = safe_for_terminal("\n".join(lines)).strip()
        if text:
            self._on_text(f"... ({dropped} earlier lines)\n{text}" if dropped else text)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
