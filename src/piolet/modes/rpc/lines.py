"""Lines of standard input as they come, read in a thread so that any kind of file will do."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator

#: Lines that wait; a client that sends faster than this is made to wait.
_MOST_WAITING = 256


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
            rest = b""
            try:
                while chunk := os.read(self._descriptor, 1 << 16):
                    *whole, rest = (rest + chunk).split(b"\n")
                    for line in whole:
                        put(line.removesuffix(b"\r"))
                if rest:
                    put(rest)
                put(None)
            except (OSError, RuntimeError, asyncio.CancelledError):
                return  # the loop is gone, and with it whoever wanted the lines

        threading.Thread(target=read, name="piolet-rpc-input", daemon=True).start()
        while (line := await lines.get()) is not None:
            yield line
