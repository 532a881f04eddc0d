"""A thousand runs of every kind leave nothing behind: no task, no thread, no process, no descriptor."""

from __future__ import annotations

import asyncio
import gc
import os
import random
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from piolet.agent.tools import OnUpdate, ToolResult
from piolet.base.abort import AbortSignal
from tests.agent.conversation import ECHO, Conversation, check_context, check_events, tool
from tests.support.scripted_model import Reply, call, fails, hangs, says

pytestmark = [
    pytest.mark.soak,
    pytest.mark.timeout(900),
    pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts descriptors and children in /proc"),
]


async def _child(id: str, arguments: dict[str, Any], signal: AbortSignal, on_update: OnUpdate) -> ToolResult:
    """Run a child process, and kill it on an abort or a cancellation."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-S", "-c", f"import time; time.sleep({arguments['text']})", stdout=asyncio.subprocess.PIPE
    )
    remove = signal.on_abort(process.kill)
    try:
        output, _ = await process.communicate()
        return ToolResult.of_text(output.decode(), is_error=process.returncode != 0)
    finally:
        remove()
        if process.returncode is None:
            process.kill()
            await process.wait()


async def _thread(id: str, arguments: dict[str, Any], signal: AbortSignal, on_update: OnUpdate) -> ToolResult:
    await asyncio.to_thread(on_update, ToolResult.of_text("half"))
    raise RuntimeError("no result")


CHILD, THREAD = tool("child", _child), tool("thread", _thread)

SCRIPTS: list[list[Reply]] = [
    [says("Hi.")],
    [says(call("echo", "c1"), call("thread", "c2")), says("Done.")],
    [says(call("child", text="0")), says("Done.")],
    [says(call("child", "c1", text="60"), call("child", "c2", text="60"))],
    [hangs("one")],
    [hangs("one", deaf=True)],
    [fails("503: busy", "par")],
]


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def children() -> set[str]:
    return {pid for task in Path("/proc/self/task").iterdir() for pid in (task / "children").read_text().split()}


async def one_run(rng: random.Random) -> None:
    script = rng.choice(SCRIPTS)
    talk = Conversation(*script, tools=[ECHO, CHILD, THREAD])
    ends_by_itself = not (
        script[0].hang or any(getattr(block, "arguments", {}).get("text") == "60" for block in script[0].blocks)
    )
    way = rng.choice(["deadline", "abort", "cancel"] if not ends_by_itself else ["wait", "deadline", "abort", "cancel"])
    if way == "wait":
        await talk.agent.prompt("go")
    elif way == "deadline":
        try:
            async with asyncio.timeout(rng.uniform(0, 0.1)):
                await talk.agent.prompt("go")
        except TimeoutError:
            pass
    else:
        run = asyncio.create_task(talk.agent.prompt("go"))
        await asyncio.sleep(rng.uniform(0, 0.1))
        if way == "abort":
            talk.agent.abort()
        else:
            run.cancel()
        await asyncio.gather(run, return_exceptions=True)
    await talk.agent.wait_idle()
    check_events(talk.events)
    check_context(talk.agent.messages)


async def test_a_thousand_runs_leave_nothing_behind() -> None:
    seed = int(os.environ.get("PIOLET_SOAK_SEED", "0")) or random.randrange(10**6)
    print(f"seed {seed}")
    rng = random.Random(seed)
    await asyncio.gather(*(one_run(rng) for _ in range(50)))  # what is made once is made now
    gc.collect()
    tasks, threads, processes, open_now = asyncio.all_tasks(), threading.active_count(), children(), descriptors()
    for _ in range(20):
        await asyncio.gather(*(one_run(rng) for _ in range(50)))
    await asyncio.sleep(0.1)
    gc.collect()
    assert asyncio.all_tasks() == tasks
    assert threading.active_count() <= max(threads, (os.cpu_count() or 1) + 5)
    assert children() <= processes
    assert descriptors() <= open_now
