"""Standard output of a mode: whole records in order, a slow reader waits for nobody and loses nothing."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.run import ROOT

PROGRAM = """
import asyncio, sys
from piolet.modes.output import Output

async def main():
    output = Output(on_broken=lambda: print("reader gone", file=sys.stderr))
{body}
    await output.flush()

asyncio.run(main())
"""


@contextmanager
def program(body: str) -> Iterator[subprocess.Popen[bytes]]:
    text = PROGRAM.format(body="\n".join(f"    {line}" for line in body.strip().splitlines()))
    with subprocess.Popen(
        [sys.executable, "-c", text],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={"PYTHONPATH": str(ROOT / "src")},
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def test_records_of_many_tasks_stay_whole_when_the_reader_is_slow() -> None:
    body = """
async def write(task):
    for number in range(50):
        await output.record({"task": task, "number": number, "text": "x" * 5000})
await asyncio.gather(*(write(task) for task in range(8)))
"""
    with program(body) as process:
        assert process.stdout is not None
        time.sleep(0.5)
        records = [json.loads(line) for line in process.stdout]
    assert len(records) == 400
    for task in range(8):
        assert [record["number"] for record in records if record["task"] == task] == list(range(50))


def test_a_task_that_is_cancelled_leaves_no_half_record() -> None:
    body = """
task = asyncio.create_task(output.record("y" * 8_000_000))
await asyncio.sleep(0.1)
task.cancel()
await asyncio.sleep(0)
output.put("behind it")
"""
    with program(body) as process:
        assert process.stdout is not None
        assert [len(json.loads(line)) for line in process.stdout] == [8_000_000, len("behind it")]


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
def test_who_writes_more_than_the_reader_takes_has_to_wait() -> None:
    body = """
task = asyncio.create_task(asyncio.sleep(0))
async def flood():
    while True:
        await output.record("z" * 100_000)
flooding = asyncio.create_task(flood())
await asyncio.sleep(1)
flooding.cancel()
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")), file=sys.stderr)
output.close()
"""
    with program(body) as process:
        _, errors = process.communicate(timeout=60)
    assert int(errors) < 80_000, f"{errors!r} kB"


def test_stray_prints_go_to_standard_error() -> None:
    body = """
print("noise")
import os
os.system("echo noise of a child")
await output.text("answer\\n")
"""
    with program(body) as process:
        out, errors = process.communicate(timeout=60)
    assert out == b"answer\n"
    assert errors.split(b"\n")[:2] == [b"noise", b"noise of a child"]


def test_a_reader_that_goes_away_is_told_of_once() -> None:
    body = """
for number in range(100):
    await output.record("x" * 100_000)
    await asyncio.sleep(0.01)
"""
    with program(body) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(10)
        process.stdout.close()
        assert process.stderr.read() == b"reader gone\n"
        assert process.wait(60) == 0


def test_output_into_a_file_is_whole(tmp_path: Path) -> None:
    text = PROGRAM.format(body="    await output.record('x' * 1_000_000)")
    with (tmp_path / "out").open("wb") as file:
        subprocess.run(
            [sys.executable, "-c", text], stdout=file, check=True, env={"PYTHONPATH": str(ROOT / "src")}, timeout=20
        )
    assert (tmp_path / "out").stat().st_size == 1_000_003
