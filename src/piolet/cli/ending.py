"""How the event loop of the program ends: what extensions left running in tasks and threads cannot hold it up."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, Final

#: Seconds that tasks and threads have to end when the mode is over.
LAST_GRACE: Final = 1.0


def run_to_end(mode: Coroutine[Any, Any, int]) -> int:
    """Run `mode` and return its exit code. If something does not end then, the process ends with that code at once."""
    with asyncio.Runner() as runner:
        code = runner.run(mode)
        if not runner.run(_rest_ends()):
            for stream in (sys.stdout, sys.stderr):
                with suppress(OSError):
                    stream.flush()
            os._exit(code)
    return code


async def _rest_ends() -> bool:
    """Ask what still runs to end; return whether it did in time."""
    deadline = time.monotonic() + LAST_GRACE
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    if tasks and (await asyncio.wait(tasks, timeout=LAST_GRACE))[1]:
        return False
    executor = getattr(asyncio.get_running_loop(), "_default_executor", None)
    if executor is not None:
        executor.shutdown(wait=False, cancel_futures=True)
    threads = [one for one in threading.enumerate() if one is not threading.main_thread() and not one.daemon]
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    return not any(thread.is_alive() for thread in threads)
