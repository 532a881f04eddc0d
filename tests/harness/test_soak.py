"""A thousand runs of harnesses over HTTP, with shell commands and session files, leave nothing behind."""

from __future__ import annotations

import asyncio
import gc
import os
import random
import threading
from pathlib import Path
from typing import Any

import pytest

from piolet.harness.environments.local import LocalEnvironment
from piolet.harness.harness import AgentHarness
from piolet.harness.retry import RetryPolicy
from piolet.harness.session.session import Session
from piolet.harness.tools.registry import built_in_tools
from piolet.llm.models import Models
from tests.agent.conversation import check_context
from tests.support import replies
from tests.support.run import Place
from tests.support.server import Reply, Request, ScriptedServer

pytestmark = [
    pytest.mark.soak,
    pytest.mark.timeout(1200),
    pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts descriptors and children in /proc"),
]

SLOW: Reply = {"stream": [{"delta": {"role": "assistant", "content": "One "}}, {"sleep_ms": 2000}, {"finish": "stop"}]}
#: By the prompt: the reply to it. A result of a tool is answered with "Done.".
REPLIES: dict[str, Reply] = {
    "plain": replies.openai("Hi."),
    "slow": SLOW,
    "quick command": replies.openai(replies.Call("bash", {"command": "echo done"})),
    "long command": replies.openai(replies.Call("bash", {"command": "sleep 60 & sleep 60"})),
    "busy": {"status": 503, "json": {"error": {"message": "overloaded"}}},
}
HANGING = ("long command",)


def answer(request: Request) -> Reply:
    if not request.content:  # its sender was gone before the end
        return REPLIES["busy"]
    last = request.body["messages"][-1]
    if last["role"] == "tool":
        return replies.openai("Done.")
    content = last["content"]
    return REPLIES[content if isinstance(content, str) else content[0]["text"]]


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def children() -> set[str]:
    return {pid for task in Path("/proc/self/task").iterdir() for pid in (task / "children").read_text().split()}


async def one_run(rng: random.Random, models: Models, place: Place) -> None:
    environment = LocalEnvironment(place.cwd)
    model = models.find("stub", "m1")
    assert model is not None
    harness = AgentHarness(
        models=models,
        model=model,
        environment=environment,
        session=Session.create(str(place.cwd), str(place.home / "sessions")),
        tools=list(built_in_tools(environment).values()),
        retry=RetryPolicy(max_retries=1, base_delay_ms=20),
    )
    settled: list[Any] = []
    harness.subscribe(lambda event: settled.append(event) if event.type == "agent_settled" else None)
    prompt = rng.choice(list(REPLIES))
    way = rng.choice(["deadline", "abort", "cancel"] if prompt in HANGING else ["wait", "deadline", "abort", "cancel"])
    run = asyncio.create_task(harness.prompt(prompt))
    if way != "wait":
        await asyncio.sleep(rng.uniform(0, 0.3))
        if way == "abort":
            await harness.abort()
        else:
            run.cancel()
    await asyncio.gather(run, return_exceptions=True)
    await harness.wait_idle()
    assert len(settled) <= 1
    check_context(harness.agent.messages)
    await harness.close()
    if harness.session.path and Path(harness.session.path).exists():
        with Session.open(harness.session.path) as again:
            assert not again.problems


async def test_a_thousand_runs_leave_nothing_behind(place: Place) -> None:
    seed = int(os.environ.get("PIOLET_SOAK_SEED", "0")) or random.randrange(10**6)
    print(f"seed {seed}")
    rng = random.Random(seed)
    before = asyncio.all_tasks(), children()
    with ScriptedServer(answer) as server:
        place.write_models(server.url)
        gc.collect()
        open_at_start, threads = descriptors(), threading.active_count()
        models = Models.open(place.home / ".pi" / "agent", environ={})
        for _ in range(50):
            await asyncio.gather(*(one_run(rng, models, place) for _ in range(20)))
        await models.aclose()
        await asyncio.sleep(2.5)  # the replies that nobody hears any more
        gc.collect()
        assert asyncio.all_tasks() == before[0]
        assert children() <= before[1]
        assert descriptors() <= open_at_start
        pools = (os.cpu_count() or 1) + 4 + 1  # that of the event loop, and the one worker for files
        assert threading.active_count() <= threads + pools
