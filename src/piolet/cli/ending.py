"""How the event loop of the program ends: what extensions left running in tasks and threads cannot hold it up."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, Final

#: Seconds that tasks, and then threads, have to end when the mode is over.
LAST_GRACE: Final = 1.0


def run_to_end(mode: Coroutine[Any, Any, int]) -> int:
    """Run `mode` and return its exit code, with which the process must end now.

    If something does not end then, the process ends with that code at once.
    """
    with asyncio.Runner() as runner:
        code = runner.run(mode)
        if not runner.run(_tasks_end()):
            _leave(code)
        if any(not one.daemon for one in threading.enumerate() if one is not threading.main_thread()):
            # Workers that wait for work end when the interpreter does: only its own end tells which threads are stuck.
            watch = threading.Timer(LAST_GRACE, _leave, [code])
            watch.daemon = True
            watch.start()
    return code


async def _tasks_end() -> bool:
    """Ask the tasks that still run to end, and drop work that no thread has begun; return whether they did in time."""
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    if tasks and (await asyncio.wait(tasks, timeout=LAST_GRACE))[1]:
        return False
    executor = getattr(asyncio.get_running_loop(), "_default_executor", None)
    if executor is not None:
        executor.shutdown(wait=False, cancel_futures=True)
    return True


def _leave(code: int) -> None:
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)
