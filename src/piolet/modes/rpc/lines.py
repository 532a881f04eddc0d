"""Lines of standard input as they come, read in a thread so that any kind of file will do."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Iterator

#: Lines that wait; a client that sends faster than this is made to wait.
_MOST_WAITING = 16


class InputLines:
    """Yields lines without their end (LF, or CR LF), the last one too if it has none; ends with the input."""

    def __init__(self, descriptor: int = 0) -> None:
        self._descriptor = descriptor

    async def __aiter__(self) -> AsyncIterator[bytes]:
        loop = asyncio.get_running_loop()
        lines: asyncio.Queue[bytes | None] = asyncio.Queue(_MOST_WAITING)

        def put(line: bytes | None) -> None:
            asyncio.run_coroutine_threadsafe(lines.put(line), loop).result()

        def read() -> None:
            try:
                for line in self._read():
                    put(line)
                put(None)
            except (OSError, RuntimeError, asyncio.CancelledError):
                return  # the loop is gone, and with it whoever wanted the lines

        threading.Thread(target=read, name="piolet-rpc-input", daemon=True).start()
        while (line := await lines.get()) is not None:
            yield line

    def _read(self) -> Iterator[bytes]:
        """Give the lines; blocks. A long line is joined once, not at every chunk."""
        begun: list[bytes] = []
        while chunk := os.read(self._descriptor, 1 << 16):
            first, *others = chunk.split(b"\n")
            begun.append(first)
            for line in others:
                yield b"".join(begun).removesuffix(b"\r")
                begun = [line]
        if rest := b"".join(begun):
            yield rest.removesuffix(b"\r")
