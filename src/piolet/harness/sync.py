"""The same harness for code without an event loop, notebooks included: one background loop for all of a process.

HTTP connections belong to an event loop, so everything that is started from synchronous code shares this one.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

_lock = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None
_thread: threading.Thread | None = None


def run_sync(work: Coroutine[Any, Any, T]) -> T:
    """Run `work` in the background loop and return its result. KeyboardInterrupt cancels it.

    Raises `RuntimeError` from inside that loop, which would wait for itself.
    """
    loop = _background_loop()
    if threading.current_thread() is _thread:
        work.close()
        raise RuntimeError("run_sync was called inside its own event loop; await the coroutine instead")
    future = asyncio.run_coroutine_threadsafe(work, loop)
    try:
        return future.result()
    except KeyboardInterrupt:
        future.cancel()
        raise


def _background_loop() -> asyncio.AbstractEventLoop:
    global _loop, _thread
    with _lock:
        if _loop is None or _thread is None or not _thread.is_alive():  # a forked process has no thread but its own
            _loop = asyncio.new_event_loop()
            started = threading.Event()
            _loop.call_soon(started.set)
            _thread = threading.Thread(target=_loop.run_forever, name="piolet-sync", daemon=True)
            _thread.start()
            started.wait()
        return _loop
