"""Standard output as the property of one mode: only answer or protocol bytes reach it, whole and in order."""

from __future__ import annotations

import asyncio
import os
import select
import sys
from collections import deque
from collections.abc import Callable

from piolet.base.json import encode
from piolet.modes.say import complain

#: Bytes that may wait for a slow reader before those who write more have to wait for him.
MOST_WAITING = 4 * 1024 * 1024


class Output:
    """Takes standard output away from all other code: what that prints goes to standard error from now on.

    What is put here is written in that order, records whole, whatever becomes of the task that put it. A slow reader
    makes writers wait; the event loop goes on meanwhile. `on_broken` is called when the reader is gone, or the disk is
    full: from then on nothing is written.
    """

    def __init__(self, on_broken: Callable[[], object] = lambda: None) -> None:
        sys.stdout.flush()
        self._fd = os.dup(1)
        #: Whether what is written is drawn: what comes from a model could drive the terminal.
        self.is_terminal = os.isatty(self._fd)
        os.dup2(2, 1)
        sys.stdout = sys.stderr
        self._on_broken = on_broken
        self._pieces: deque[memoryview] = deque()
        self._size = 0
        self._waits_for_reader = False
        self._closed = False
        #: Whether the reader has gone away.
        self.broken = False
        self._room = asyncio.Event()

    async def record(self, value: object) -> None:
        """Write `value` as one JSON line; return when there is room for more."""
        self.put(value)
        await self.room()

    def put(self, value: object) -> None:
        """Write `value` as one JSON line, as soon as the reader takes it."""
        self._add(encode(value) + b"\n")

    async def text(self, text: str) -> None:
        """Write `text`; return when there is room for more."""
        self._add(text.encode("utf-8", "replace"))
        await self.room()

    async def room(self, most: int = MOST_WAITING) -> None:
        """Return when at most `most` bytes wait for the reader."""
        while self._size > most:
            self._room.clear()
            await self._room.wait()

    async def flush(self) -> None:
        """Return when everything is written, or nobody reads any more."""
        await self.room(0)

    def close(self) -> None:
        """Drop what waits and write nothing more; who waits goes on."""
        self._closed = True
        self._drop()

    def _add(self, data: bytes) -> None:
        if self._closed or not data:
            return
        self._pieces.append(memoryview(data))
        self._size += len(data)
        if not self._waits_for_reader:
            self._write()

    def _write(self) -> None:
        """Write as much as the reader takes without making this thread wait."""
        try:
            while self._pieces and select.select([], [self._fd], [], 0)[1]:
                piece = self._pieces[0]
                written = os.write(self._fd, piece[: select.PIPE_BUF])
                self._size -= written
                if written == len(piece):
                    self._pieces.popleft()
                else:
                    self._pieces[0] = piece[written:]
        except OSError as error:
            if not isinstance(error, BrokenPipeError):
                complain(f"Standard output cannot be written: {error.strerror}")
            self.broken = True
            self.close()
            self._on_broken()
        if bool(self._pieces) != self._waits_for_reader:
            self._waits_for_reader = not self._waits_for_reader
            loop = asyncio.get_running_loop()
            if self._waits_for_reader:
                loop.add_writer(self._fd, self._write)
            else:
                loop.remove_writer(self._fd)
        self._room.set()

    def _drop(self) -> None:
        self._pieces.clear()
        self._size = 0
        if self._waits_for_reader:
            self._waits_for_reader = False
            asyncio.get_running_loop().remove_writer(self._fd)
        self._room.set()
