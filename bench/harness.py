"""A thousand harnesses in one process: what each costs while idle, how fast they take turns, how late events arrive.

Ours and the peer's SDK (``PI_PKG``, ``NODE_BIN``) do the same against the same model on loopback: make as many as are
asked for, each with its own session file and the four tools; prompt each once, `AT_ONCE` at a time; then let `AT_ONCE`
stream together and compare the time inside each delta with the time at which a listener gets it. Shown are medians of
`ROUNDS` rounds, in each of which both have their turn.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from bench.loopback_model import loopback_model

HARNESSES, AT_ONCE, ROUNDS = 1000, 50, 3
#: Names of models of `bench.loopback_model`: a short answer at once, and one of 2 s in small pieces.
SHORT, LONG = "5x0", "100x20"
MOST_KB = 150
PEER = Path(__file__).with_name("harness_peer.mjs")

ROWS = [
    ("made", "s", "time to make all of them"),
    ("kb_made", "kB", "memory of each, made"),
    ("kb_idle", "kB", "memory of each, idle after a turn"),
    ("tasks", "", "tasks of all of them, idle"),
    ("threads", "", "threads of all of them, idle"),
    ("turns", "/s", "turns"),
    ("p50", "ms", "event latency, median"),
    ("p99", "ms", "event latency, p99"),
]


def main(argv: Sequence[str] = ()) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench harness", description=__doc__)
    parser.add_argument("--count", type=int, default=HARNESSES, help="how many harnesses (default %(default)s)")
    count = parser.parse_args(argv).count
    commands = [[sys.executable, "-m", "bench.harness"]]
    if os.environ.get("PI_PKG"):
        commands.append([str(Path(os.environ.get("NODE_BIN", ""), "node")), "--expose-gc", str(PEER)])
    else:
        print("the peer is not installed (PI_PKG): no ratios")
    with loopback_model() as url:
        rounds = [[measured(command, url, count) for command in commands] for _ in range(ROUNDS)]
    ours, *peers = [medians(side) for side in zip(*rounds, strict=True)]
    peer = peers[0] if peers else {}
    print(f"{count} harnesses in one process, {AT_ONCE} at once, Python {sys.version.split()[0]}")
    print(f"{'':36} {'piolet':>12} {'peer':>12} {'ratio':>7}")
    for key, unit, name in ROWS:
        line = f"{name:36} {ours[key]:9.4g} {unit:2}"
        if key in peer:
            ratio = f"{ours[key] / peer[key]:7.2f}" if peer[key] else ""
            line += f" {peer[key]:9.4g} {unit:2} {ratio}"
        print(line)
    met = ours["kb_idle"] <= MOST_KB and ours["tasks"] <= 0 and ours["threads"] <= 0
    print(f"<= {MOST_KB} kB each while idle, no task and no thread: {'met' if met else 'MISSED'}")
    return 0


def medians(results: Sequence[dict[str, float]]) -> dict[str, float]:
    return {key: median(result[key] for result in results) for key in results[0]}


def measured(command: list[str], url: str, count: int) -> dict[str, float]:
    """Run one side in a process of its own; it prints its numbers as JSON in the last line."""
    with tempfile.TemporaryDirectory() as folder:
        return measured_in(Path(folder), command, url, count)


def measured_in(folder: Path, command: list[str], url: str, count: int) -> dict[str, float]:
    agent = folder / "agent"
    agent.mkdir(parents=True)
    models = [
        {"id": id, "name": id, "contextWindow": 128_000, "maxTokens": 8192, "input": ["text"], "reasoning": False}
        for id in (SHORT, LONG)
    ]
    provider = {"baseUrl": url, "api": "openai-completions", "apiKey": "k", "models": models}
    (agent / "models.json").write_text(json.dumps({"providers": {"stub": provider}}))
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "PI_OFFLINE": "1", "LANG": "C.UTF-8"}
    for name in ("PI_PKG", "PYTHONPATH", "VIRTUAL_ENV"):
        if name in os.environ:
            env[name] = os.environ[name]
    given = {"folder": str(folder), "count": count, "atOnce": AT_ONCE, "short": SHORT, "long": LONG}
    result = subprocess.run([*command, json.dumps(given)], env=env, stdout=subprocess.PIPE, text=True, check=False)
    if result.returncode:
        raise SystemExit(f"{' '.join(command)} failed with {result.returncode}")
    numbers: dict[str, float] = json.loads(result.stdout.splitlines()[-1])
    return numbers


async def our_side(given: dict[str, Any]) -> dict[str, float]:
    from piolet.harness.environments.local import LocalEnvironment
    from piolet.harness.harness import AgentHarness
    from piolet.harness.session.session import Session
    from piolet.harness.tools.registry import built_in_tools
    from piolet.llm.models import Models

    folder = Path(given["folder"])
    models = Models.open(folder / "agent", environ={})
    model, talkative = models.find("stub", given["short"]), models.find("stub", given["long"])
    assert model is not None
    assert talkative is not None

    def make() -> AgentHarness:
        environment = LocalEnvironment(folder)
        return AgentHarness(
            models=models,
            model=model,
            environment=environment,
            session=Session.create(str(folder), str(folder / "sessions")),
            tools=list(built_in_tools(environment).values()),
        )

    await make().prompt("Warm up.")
    tasks, threads, before = len(asyncio.all_tasks()), own_threads(), resident()
    begin = time.perf_counter()
    harnesses = [make() for _ in range(given["count"])]
    made = time.perf_counter() - begin
    kb_made = (resident() - before) / given["count"]
    begin = time.perf_counter()
    await in_turn([lambda one=one: one.prompt("Hello.") for one in harnesses], given["atOnce"])  # type: ignore[misc]
    turns = given["count"] / (time.perf_counter() - begin)
    idle = {
        "kb_idle": (resident() - before) / given["count"],
        "tasks": len(asyncio.all_tasks()) - tasks,
        "threads": own_threads() - threads,
    }
    delays: list[float] = []

    def hear(event: Any) -> None:
        if event.type == "message_update" and event.assistant_message_event.type == "text_delta":
            delays.append(time.time() - float(event.assistant_message_event.delta))

    streaming = harnesses[: given["atOnce"]]
    for one in streaming:
        await one.set_model(talkative)
        one.subscribe(hear)
    await asyncio.gather(*(one.prompt("Go on.") for one in streaming))
    delays.sort()
    p50, p99 = (1000 * delays[int(part * len(delays))] for part in (0.5, 0.99))
    for one in harnesses:
        await one.close()
    return {"made": made, "kb_made": kb_made, **idle, "turns": turns, "p50": p50, "p99": p99}


async def in_turn(jobs: list[Callable[[], Coroutine[Any, Any, Any]]], at_once: int) -> None:
    """Do all jobs, `at_once` at a time."""
    waiting = iter(jobs)

    async def work() -> None:
        for job in waiting:
            await job()

    await asyncio.gather(*(work() for _ in range(at_once)))


def own_threads() -> int:
    """The number of threads without those of the event loop's pool, which all harnesses share."""
    return sum(not thread.name.startswith("asyncio_") for thread in threading.enumerate())


def resident() -> float:
    """The resident set of this process, in kB, once the garbage is gone."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1000


if __name__ == "__main__":
    print(json.dumps(asyncio.run(our_side(json.loads(sys.argv[1])))))
