"""How soon the command answers, what a small job costs, and what an installation takes.

Measured are medians of `RUNS` runs, ours and the peer's in turn, each in its own home, offline, against a model server
on loopback. The small job is two requests: the model calls read, then it answers.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from bench.installation import install
from tests.support import replies
from tests.support.peer import Peer
from tests.support.run import Place
from tests.support.server import ScriptedServer

RUNS = 9
JOB = [replies.openai(replies.Call("read", {"path": "notes.txt"})), replies.openai("The notes are short.")]


@dataclass(frozen=True)
class Run:
    """One run of a command: seconds, seconds of CPU, and the peak resident set in MB."""

    wall: float
    cpu: float
    rss: float
    first_request: float = 0.0


@dataclass(frozen=True)
class Measure:
    name: str
    unit: str
    of: Callable[[Run], float]
    most_of_peer: float | None = None
    most: float | None = None


VERSION = [Measure("--version, wall", "s", lambda run: run.wall, most_of_peer=0.25)]
SMALL_JOB = [
    Measure("start to first request, wall", "s", lambda run: run.first_request, most_of_peer=0.6),
    Measure("two-request job, wall", "s", lambda run: run.wall),
    Measure("two-request job, CPU", "s", lambda run: run.cpu, most_of_peer=0.6),
    Measure("two-request job, peak RSS", "MB", lambda run: run.rss, most=70),
]
MOST_SIZE_MB, MOST_PACKAGES = 45, 25


def main() -> None:
    installation, peer = install(), Peer.find()
    commands = [installation.command, *([peer.command] if peer else [])]
    if peer is None:
        print("the peer is not installed (PI_BIN): no ratios")
    print(f"medians of {RUNS} runs, Python {sys.version.split()[0]}")
    print(f"{'':30} {'piolet':>10} {'peer':>10} {'ratio':>7}  target")
    with tempfile.TemporaryDirectory() as folder:
        places = []
        for number, _ in enumerate(commands):
            (Path(folder) / str(number)).mkdir()
            places.append(Place.below(Path(folder) / str(number)))
        for measures, once in ((VERSION, run_version), (SMALL_JOB, run_small_job)):
            pairs = list(zip(commands, places, strict=True))
            rounds = [[once(command, place) for command, place in pairs] for _ in range(RUNS + 1)][1:]
            for measure in measures:
                report(measure, [median(measure.of(run) for run in runs) for runs in zip(*rounds, strict=True)])
    size, packages = installation.size / 1e6, installation.packages
    print(f"{'installed size':30} {size:7.1f} MB {'':18}  <= {MOST_SIZE_MB} MB: {verdict(size <= MOST_SIZE_MB)}")
    enough = verdict(len(packages) <= MOST_PACKAGES)
    print(f"{'packages':30} {len(packages):10} {'':18}  <= {MOST_PACKAGES}: {enough}")


def run_version(command: Path, place: Place) -> Run:
    return run(place, [str(command), "--version"])


def run_small_job(command: Path, place: Place) -> Run:
    (place.cwd / "notes.txt").write_text("Buy milk.\n")
    with ScriptedServer(JOB) as server:
        place.write_models(server.url)
        started = time.monotonic()
        result = run(place, [str(command), "-p", "--model", "stub/m1", "What do the notes say?"])
        if len(server.requests) != len(JOB):
            raise SystemExit(f"{command} made {len(server.requests)} requests where {len(JOB)} were expected")
    return Run(result.wall, result.cpu, result.rss, server.requests[0].at - started)


def run(place: Place, argv: list[str]) -> Run:
    env = place.environment()
    del env["PYTHONPATH"]  # the command is the installed one
    started = time.monotonic()
    process = subprocess.Popen(
        argv, cwd=place.cwd, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    with process:
        assert process.stdout is not None
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    wall = time.monotonic() - started
    if process.returncode:
        raise SystemExit(f"{' '.join(argv)} failed:\n{output.decode(errors='replace')}")
    in_mb = 1e6 if sys.platform == "darwin" else 1e3
    return Run(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / in_mb)


def report(measure: Measure, values: list[float]) -> None:
    """Print a line of the table: ours, the peer's where there is one, their ratio, the target."""
    ours, *others = values
    line = f"{measure.name:30} {ours:7.3g} {measure.unit:2}"
    ratio = f"{ours / others[0]:7.2f}" if others and others[0] else " " * 7
    line += f" {others[0]:7.3g} {measure.unit:2} {ratio}" if others else " " * 19
    if measure.most_of_peer is not None and others:
        line += f"  <= {measure.most_of_peer} x: {verdict(ours <= measure.most_of_peer * others[0])}"
    if measure.most is not None:
        line += f"  <= {measure.most:g} {measure.unit}: {verdict(ours <= measure.most)}"
    print(line, flush=True)


def verdict(met: bool) -> str:
    return "met" if met else "MISSED"
