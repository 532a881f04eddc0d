"""Standard output as the property of one mode: only answer or protocol bytes reach it, whole and in order."""

from __future__ import annotations

import asyncio
import os
import select
import sys

from piolet.base.json import encode

#: A pipe that is ready takes this much without blocking (POSIX PIPE_BUF on Linux).
_PIECE = 4096


class Output:
    """Takes standard output away from all other code: what that prints goes to standard error from now on.

    A slow reader makes writers wait; nothing is dropped, and the event loop goes on meanwhile.
    """

    def __init__(self) -> None:
        sys.stdout.flush()
        self._fd = os.dup(1)
        os.dup2(2, 1)
        sys.stdout = sys.stderr
        self._turn = asyncio.Lock()

    async def record(self, value: object) -> None:
        """Write `value` as one JSON line."""
        await self.write(encode(value) + b"\n")

    async def text(self, text: str) -> None:
        await self.write(text.encode("utf-8", "replace"))

    async def write(self, data: bytes) -> None:
        """Write all of `data`. A reader that is gone raises `BrokenPipeError`."""
        async with self._turn:
            rest = memoryview(data)
            while rest:
                if not select.select([], [self._fd], [], 0)[1]:
                    await self._writable()
                rest = rest[os.write(self._fd, rest[:_PIECE]) :]

    async def _writable(self) -> None:
        loop, ready = asyncio.get_running_loop(), asyncio.Event()
        loop.add_writer(self._fd, ready.set)
        try:
            await ready.wait()
        finally:
            loop.remove_writer(self._fd)
