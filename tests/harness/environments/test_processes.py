"""Processes of the local environment: read as they write, killed whole, never waited for in vain."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from piolet.base.abort import AbortController
from piolet.harness.environments import processes
from piolet.harness.environments.base import ExitStatus, ShellNotFound
from piolet.harness.environments.local import LocalEnvironment
from tests.support.timing import TRIES, until


class Output:
    def __init__(self) -> None:
        self.chunks: list[tuple[str, bytes]] = []

    async def take(self, data: bytes, stream: str) -> None:
        self.chunks.append((stream, data))

    @property
    def all(self) -> bytes:
        return b"".join(data for _, data in self.chunks)


@pytest.fixture
def environment(tmp_path: Path) -> LocalEnvironment:
    return LocalEnvironment(tmp_path)


@pytest.fixture(params=["pidfd", "polling"])
def watch(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways of noticing an exit."""
    if request.param == "polling":
        monkeypatch.delattr(os, "pidfd_open", raising=False)
    return str(request.param)


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


async def sh(environment: LocalEnvironment, command: str, output: Output | None = None, **options: Any) -> ExitStatus:
    take = output.take if output is not None else None
    return await environment.run(["/bin/sh", "-c", command], on_output=take, **options)


async def test_exit_code_and_both_streams(environment: LocalEnvironment, watch: str) -> None:
    output = Output()
    status = await sh(environment, "echo out; echo err >&2; exit 5", output)
    assert (status.code, status.timed_out, status.aborted, status.left_running) == (5, False, False, False)
    assert sorted(output.chunks) == [("stderr", b"err\n"), ("stdout", b"out\n")]


async def test_death_by_a_signal_is_128_and_its_number(environment: LocalEnvironment, watch: str) -> None:
    assert (await sh(environment, "kill -9 $$")).code == 137
    assert (await sh(environment, "kill -15 $$")).code == 143


async def test_a_quick_command_does_not_wait_for_the_quiet_time(environment: LocalEnvironment) -> None:
    times = []
    for _ in range(10):
        started = time.monotonic()
        await sh(environment, "exit 0")
        times.append(time.monotonic() - started)
    assert min(times) < processes.QUIET_SECONDS


async def test_a_background_child_neither_holds_the_call_nor_is_killed(
    environment: LocalEnvironment, watch: str
) -> None:
    output = Output()
    await sh(environment, "sleep 60 & echo $!", output)
    child = int(output.all)
    assert is_running(child)
    os.kill(child, 9)


async def test_output_just_after_the_exit_is_still_taken(environment: LocalEnvironment) -> None:
    outputs = []
    for _ in range(TRIES):  # with other work on the machine 50 ms may well become more than 100
        output = Output()
        await sh(environment, "(sleep 0.05; echo late) & echo now", output)
        outputs.append(output.all)
    assert b"now\nlate\n" in outputs


async def test_a_time_out_kills_the_whole_tree(environment: LocalEnvironment, watch: str) -> None:
    output = Output()
    status = await sh(environment, "sleep 60 & echo $!; trap '' TERM; sleep 60", output, timeout=1.5)
    assert (status.code, status.timed_out, status.left_running) == (None, True, False)
    await until(lambda: not is_running(int(output.all)))


async def test_a_time_out_after_the_exit_keeps_the_code(environment: LocalEnvironment, watch: str) -> None:
    for _ in range(TRIES):  # with other work on the machine it may be quiet for long enough to end the call
        output = Output()
        status = await sh(environment, "(while :; do echo x; sleep 0.02; done) & echo $!; exit 3", output, timeout=2)
        if status.timed_out:
            break
        os.kill(int(output.all.replace(b"x\n", b"")), 9)
    assert (status.code, status.timed_out, status.left_running) == (3, True, True)
    assert status.seconds < 2
    assert output.all.count(b"x\n") > 2


async def test_an_abort_kills_the_whole_tree_at_once(environment: LocalEnvironment, watch: str) -> None:
    controller, output = AbortController(), Output()
    running = asyncio.create_task(sh(environment, "sleep 60 & echo $!; sleep 60", output, signal=controller.signal))
    await until(lambda: bool(output.all))
    controller.abort()
    status = await running
    assert (status.code, status.aborted, status.timed_out) == (None, True, False)
    assert status.seconds < 20
    await until(lambda: not is_running(int(output.all)))


async def test_an_abort_from_another_thread_is_heard(environment: LocalEnvironment) -> None:
    controller = AbortController()
    threading.Timer(0.1, controller.abort).start()
    assert (await sh(environment, "sleep 60", signal=controller.signal)).aborted


async def test_a_signal_that_is_set_already_kills_at_once(environment: LocalEnvironment) -> None:
    controller = AbortController()
    controller.abort()
    assert (await sh(environment, "sleep 60", signal=controller.signal)).aborted


async def test_cancelling_the_call_kills_the_tree(environment: LocalEnvironment, watch: str) -> None:
    output = Output()
    running = asyncio.create_task(sh(environment, "sleep 60 & echo $!; sleep 60", output))
    await until(lambda: bool(output.all))
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await until(lambda: not is_running(int(output.all)))


async def test_all_open_calls_can_be_killed_from_a_signal_handler(environment: LocalEnvironment) -> None:
    output = Output()
    calls = [asyncio.create_task(sh(environment, "echo x; sleep 60", output)) for _ in range(3)]
    await until(lambda: output.all.count(b"x") == 3)
    processes.kill_all_process_groups()
    assert [(await call).code for call in calls] == [137] * 3


async def test_nothing_is_left_after_a_call(environment: LocalEnvironment, watch: str) -> None:
    await sh(environment, "true")
    descriptors, threads = os.listdir("/proc/self/fd"), threading.active_count()
    for command in ("echo a", "sleep 5 & echo b", "exec 1>&- 2>&-"):
        await sh(environment, command)
    await sh(environment, "sleep 5", timeout=0.1)
    assert len(os.listdir("/proc/self/fd")) == len(descriptors)
    assert threading.active_count() == threads
    assert len(asyncio.all_tasks()) == 1


async def test_a_program_that_closes_its_output_is_waited_for(environment: LocalEnvironment, watch: str) -> None:
    started = time.monotonic()
    assert (await sh(environment, "exec 1>&- 2>&-; sleep 0.4; exit 2")).code == 2
    assert time.monotonic() - started > 0.35


async def test_the_reader_sets_the_pace(environment: LocalEnvironment) -> None:
    seen = 0

    async def slow(data: bytes, stream: str) -> None:
        nonlocal seen
        seen += len(data)
        await asyncio.sleep(0.002)

    status = await environment.run(["/bin/sh", "-c", "head -c 3000000 /dev/zero"], on_output=slow)
    assert (status.code, seen) == (0, 3_000_000)


async def test_stdin_is_empty_unless_given(environment: LocalEnvironment) -> None:
    output = Output()
    await sh(environment, "cat", output, timeout=60)
    assert output.all == b""
    await sh(environment, "cat", output, stdin=b"x" * 300_000)
    assert len(output.all) == 300_000


async def test_a_program_that_does_not_read_its_stdin_is_no_problem(environment: LocalEnvironment) -> None:
    assert (await sh(environment, "exit 3", stdin=b"x" * 300_000)).code == 3


async def test_the_process_leads_a_session_and_group_of_its_own(environment: LocalEnvironment) -> None:
    output = Output()
    await sh(environment, "exec ps -o pid=,pgid=,sid= -p $$", output)
    pid, group, session = output.all.split()
    assert pid == group == session


async def test_variables_are_laid_over_those_of_this_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEPT", "1")
    monkeypatch.setenv("GONE", "1")
    output = Output()
    environment = LocalEnvironment(tmp_path, path_folders=["/agent/bin"])
    command = "echo $KEPT ${GONE-unset} $NEW $PI_CODING_AGENT $AI_AGENT; echo $PATH"
    await sh(environment, command, output, env={"GONE": None, "NEW": "2"})
    first, path = output.all.decode().splitlines()
    assert first == "1 unset 2 true piolet"
    assert path == f"/agent/bin:{os.environ['PATH']}"


async def test_a_missing_program_and_a_missing_folder_are_told_apart(environment: LocalEnvironment) -> None:
    with pytest.raises(FileNotFoundError) as program:
        await environment.run(["no-such-program"], env={"PATH": "/usr/bin:/bin"})
    assert program.value.filename == "no-such-program"
    with pytest.raises(FileNotFoundError) as folder:
        await environment.run(["true"], cwd="/no/such/folder")
    assert folder.value.filename == "/no/such/folder"


async def test_the_shell_is_bash_or_the_one_asked_for(environment: LocalEnvironment) -> None:
    assert await environment.shell() == ["/bin/bash", "-c"]
    assert await environment.shell("/bin/sh") == ["/bin/sh", "-c"]
    with pytest.raises(ShellNotFound, match="Custom shell path not found: ~/no/shell"):
        await environment.shell("~/no/shell")


async def test_without_bash_there_is_sh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "sh").symlink_to("/bin/sh")
    exists = os.path.exists
    monkeypatch.setattr(os.path, "exists", lambda path: path != "/bin/bash" and exists(path))
    environment = LocalEnvironment(tmp_path, env={"PATH": str(tools)})
    assert await environment.shell() == [str(tools / "sh"), "-c"]
