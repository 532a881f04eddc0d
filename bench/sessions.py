"""What long sessions cost: opened with their context, listed, appended to, asked one question.

Ours and the peer's SDK (``PI_PKG``, ``NODE_BIN``) do the same to the same files, each job in a process of its own, in
turn; shown are medians of `ROUNDS` rounds. Times are those of the job itself; of the question, those of the command
(``PI_BIN``). Memory is the peak resident set.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from bench.installation import install
from bench.session_files import write_session
from bench.startup import run
from tests.support import replies
from tests.support.peer import Peer
from tests.support.run import Place
from tests.support.server import ScriptedServer

MB = 1_000_000
ROUNDS = 5
LONG, FILES, FILE_SIZE, APPENDS = 100 * MB, 1000, 126_000, 10_000
OURS = Path(__file__).with_name("sessions_ours.py")
PEER = Path(__file__).with_name("sessions_peer.mjs")


@dataclass(frozen=True)
class Job:
    """One row or two: time, and memory where a target names it. Targets are parts of what the peer needs."""

    name: str
    job: str
    path: str
    most_time: float | None = None
    most_memory: float | None = None


JOBS = [
    Job("open + context of 100 MB", "context", "long.jsonl", 0.3, 0.5),
    Job("the same, compacted", "context", "compacted.jsonl", 0.3, 0.5),
    Job(f"list {FILES} files, {FILES * FILE_SIZE // MB} MB", "list", "many", 0.3),
    Job(f"{APPENDS} appends", "append", "new.jsonl"),
]


def main() -> int:
    peer = Peer.find()
    sides = [[sys.executable, str(OURS)]]
    if peer is not None and peer.package is not None:
        sides.append([str(Path(os.environ.get("NODE_BIN", ""), "node")), str(PEER)])
    else:
        print("the peer is not installed (PI_BIN, PI_PKG): no ratios")
    print(f"medians of {ROUNDS} rounds, Python {sys.version.split()[0]}")
    print(f"{'':34} {'piolet':>11} {'peer':>11} {'ratio':>7}  target")
    with tempfile.TemporaryDirectory() as folder:
        place = Place.below(Path(folder))
        files = make_files(Path(folder), place)
        for job in JOBS:
            rounds = [[measured(side, job, files, place) for side in sides] for _ in range(ROUNDS)]
            for key, unit, target in (("seconds", "s", job.most_time), ("mb", "MB", job.most_memory)):
                report(
                    f"{job.name}, {unit}", [median(r[key] for r in side) for side in zip(*rounds, strict=True)], target
                )
        commands = [install().command, *([peer.command] if peer else [])]
        questions = [[ask(command, files, place) for command in commands] for _ in range(ROUNDS)]
        report("one question on it, wall, s", [median(side) for side in zip(*questions, strict=True)], 0.3)
    return 0


def make_files(folder: Path, place: Place) -> Path:
    files = folder / "files"
    (files / "many").mkdir(parents=True)
    write_session(files / "long.jsonl", LONG, place.cwd)
    write_session(files / "compacted.jsonl", LONG, place.cwd, compact_every=600_000, seed=2)
    for number in range(FILES):
        write_session(files / "many" / f"{number}.jsonl", FILE_SIZE, place.cwd, seed=number)
    return files


def measured(side: Sequence[str], job: Job, files: Path, place: Place) -> dict[str, float]:
    """Run one job on one side; it prints its numbers as JSON in the last line."""
    path = files / job.path
    if job.job == "append":
        write_session(path, 0, place.cwd)
    env = place.environment() | {name: os.environ[name] for name in ("PI_PKG",) if name in os.environ}
    argv = [*side, job.job, str(path), str(APPENDS)]
    done = subprocess.run(argv, env=env, cwd=place.cwd, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(argv)} failed with {done.returncode}")
    numbers: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    if not numbers["things"]:
        raise SystemExit(f"{' '.join(argv)} found nothing to do")
    return numbers


def ask(command: Path, files: Path, place: Place) -> float:
    """Return how long a command takes to answer one question on the compacted session."""
    session = files / "asked.jsonl"
    shutil.copyfile(files / "compacted.jsonl", session)
    with session.open("rb") as file:
        os.fsync(file)  # else a command that waits for the disk at its end waits for the copy
    with ScriptedServer([replies.openai("Yes.")]) as server:
        place.write_models(server.url)
        wall = run(place, [str(command), "-p", "--model", "stub/m1", "--session", str(session), "Is it done?"]).wall
        if len(server.requests) != 1:
            raise SystemExit(f"{command} made {len(server.requests)} requests where one was expected")
    return wall


def report(name: str, values: Sequence[float], most: float | None) -> None:
    ours, *others = values
    line = f"{name:34} {ours:11.3g}"
    if others:
        line += f" {others[0]:11.3g} {ours / others[0]:7.2f}"
        if most is not None:
            line += f"  <= {most:g} x: {'met' if ours <= most * others[0] else 'MISSED'}"
    print(line, flush=True)
