"""Processes on far sides: read as they write, killed whole, told apart from the noise around them."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from piolet.base.abort import AbortController
from piolet.harness.environments.base import ExitStatus, ShellNotFound
from piolet.harness.environments.shell import ShellEnvironment
from tests.support.far import NAMES, FarPlaces, NotHere
from tests.support.timing import TRIES, until


class Output:
    def __init__(self) -> None:
        self.chunks: list[tuple[str, bytes]] = []
        self.came = asyncio.Event()

    async def take(self, data: bytes, stream: str) -> None:
        self.chunks.append((stream, data))
        self.came.set()

    @property
    def all(self) -> bytes:
        return b"".join(data for _, data in self.chunks)

    def of(self, stream: str) -> bytes:
        return b"".join(data for name, data in self.chunks if name == stream)


@pytest.fixture(params=[name for name in NAMES if "without" not in name])
def environment(request: pytest.FixtureRequest, far: FarPlaces) -> Iterator[ShellEnvironment]:
    with far.working_folder() as folder:
        try:
            yield far.environment(request.param, folder)
        except NotHere as reason:
            pytest.skip(str(reason))


@pytest.fixture
def seconds() -> str:
    """A time to sleep that no other process of this machine sleeps."""
    return f"{random.randint(300, 900)}.{random.randint(1000, 9999)}"


def sleeping(seconds: str) -> list[int]:
    """Return the processes that sleep so long, also those in containers."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if path.read_bytes() == f"sleep\0{seconds}\0".encode():
                found.append(int(path.parent.name))
    return found


async def sh(environment: ShellEnvironment, command: str, output: Output | None = None, **options: Any) -> ExitStatus:
    take = output.take if output is not None else None
    return await environment.run(["sh", "-c", command], on_output=take, **options)


async def test_exit_code_and_both_streams(environment: ShellEnvironment) -> None:
    output = Output()
    status = await sh(environment, "echo out; echo err >&2; exit 5", output)
    assert (status.code, status.timed_out, status.aborted, status.left_running) == (5, False, False, False)
    assert (output.of("stdout"), output.of("stderr")) == (b"out\n", b"err\n")


async def test_arguments_arrive_as_they_are(environment: ShellEnvironment) -> None:
    words = ["", " a  b ", "'\"`$HOME", "\\n\\0101", "*", "a\nb\n", "%s%%", "ü\U0001f600", "-n", "!x", "\x1e\x01\x7f"]
    output = Output()
    await environment.run(["printf", "%s|", *words], on_output=output.take)
    assert output.all.decode() == "".join(f"{word}|" for word in words)


async def test_output_is_binary(environment: ShellEnvironment) -> None:
    data = bytes(range(256)) * 700 + b"\x1e"
    path = await environment.resolve("data")
    await environment.write_bytes(path, data)
    output = Output()
    await environment.run(["cat", "data"], on_output=output.take)
    assert output.all == data


async def test_death_by_a_signal_is_128_and_its_number(environment: ShellEnvironment) -> None:
    output = Output()
    assert (await sh(environment, "kill -9 $$", output)).code == 137
    assert (await sh(environment, "kill -15 $$", output)).code == 143
    assert output.all == b""


async def test_a_background_child_neither_holds_the_call_nor_is_killed(
    environment: ShellEnvironment, seconds: str
) -> None:
    assert (await sh(environment, f"sleep {seconds} & echo on", output := Output())).code == 0
    assert output.all == b"on\n"
    pids = sleeping(seconds)
    assert pids
    for pid in pids:
        os.kill(pid, 9)


async def test_a_background_child_keeps_running_without_the_output(environment: ShellEnvironment) -> None:
    await sh(environment, "(sleep 0.5; echo done >later) >/dev/null 2>&1 &")
    path = await environment.resolve("later")
    async with asyncio.timeout(60):
        while await environment.stat(path) is None:
            await asyncio.sleep(0.05)


async def test_a_time_out_kills_the_whole_tree(environment: ShellEnvironment, seconds: str) -> None:
    output = Output()
    command = f"sleep {seconds} & trap '' TERM; echo on; sleep {seconds}; sleep {seconds}"
    status = await sh(environment, command, output, timeout=1.5)
    assert (status.code, status.timed_out, status.aborted, status.left_running) == (None, True, False, False)
    assert 1.5 <= status.seconds < 60
    assert output.all == b"on\n"
    await until(lambda: not sleeping(seconds))


async def test_a_time_out_after_the_exit_keeps_the_code_and_kills_the_rest(
    environment: ShellEnvironment, seconds: str
) -> None:
    if environment.kind == "container":
        pytest.skip("an engine may end the output of a command with its first process")
    command = f"(sleep {seconds} & while :; do echo x; sleep 0.02; done) & exit 3"
    for _ in range(TRIES):  # with other work on the machine it may be quiet for long enough to end the call
        status = await sh(environment, command, Output(), timeout=2)
        if status.timed_out:
            break
        for pid in sleeping(seconds):
            os.kill(pid, 9)
    assert (status.code, status.timed_out, status.left_running) == (3, True, True)
    assert status.seconds < 2
    await until(lambda: not sleeping(seconds))


async def test_an_abort_kills_the_whole_tree(environment: ShellEnvironment, seconds: str) -> None:
    controller, output = AbortController(), Output()
    command = f"sleep {seconds} & echo on; sleep {seconds}"
    running = asyncio.create_task(sh(environment, command, output, signal=controller.signal))
    await output.came.wait()
    controller.abort()
    status = await running
    assert (status.code, status.aborted, status.timed_out) == (None, True, False)
    await until(lambda: not sleeping(seconds))


async def test_with_grace_a_program_may_end_by_itself(environment: ShellEnvironment, seconds: str) -> None:
    command = f"trap 'echo bye; exit 9' TERM; echo on; sleep {seconds} & wait"
    status = await sh(environment, command, output := Output(), timeout=1.5, grace=30)
    assert (status.code, status.timed_out, output.all) == (9, True, b"on\nbye\n")
    status = await sh(environment, f"trap '' TERM; sleep {seconds}; sleep {seconds}", timeout=0.3, grace=0.4)
    assert (status.code, status.timed_out) in ((137, True), (None, True))
    assert status.seconds < 60
    for pid in sleeping(seconds):
        os.kill(pid, 9)


async def test_an_abort_at_any_moment_leaves_nothing(environment: ShellEnvironment, seconds: str) -> None:
    for delay in (0, 0.002, 0.005, 0.01, 0.02):
        controller = AbortController()
        running = asyncio.create_task(sh(environment, f"sleep {seconds}", signal=controller.signal))
        await asyncio.sleep(delay)
        controller.abort()
        assert (await running).aborted
    await until(lambda: not sleeping(seconds))


async def test_an_abort_from_another_thread_is_heard(environment: ShellEnvironment) -> None:
    controller = AbortController()
    threading.Timer(0.3, controller.abort).start()
    assert (await sh(environment, "sleep 30", signal=controller.signal)).aborted


async def test_cancelling_the_call_kills_the_tree(environment: ShellEnvironment, seconds: str) -> None:
    output = Output()
    running = asyncio.create_task(sh(environment, f"sleep {seconds} & echo on; sleep {seconds}", output))
    await output.came.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await until(lambda: not sleeping(seconds))


async def test_calls_run_side_by_side(environment: ShellEnvironment) -> None:
    await sh(environment, "true")
    outputs = [Output() for _ in range(6)]
    meet = "touch beside{}; while [ ! -e beside0 -o ! -e beside5 ]; do sleep 0.05; done; echo {}"
    calls = [sh(environment, meet.format(number, number), output) for number, output in enumerate(outputs)]
    paths = [environment.stat("/") for _ in range(12)]
    async with asyncio.timeout(60):
        await asyncio.gather(*calls, *paths)
    assert [output.all for output in outputs] == [b"%d\n" % number for number in range(6)]


async def test_stdin_is_empty_unless_given(environment: ShellEnvironment) -> None:
    output = Output()
    await sh(environment, "cat; echo end", output, timeout=60)
    assert output.all == b"end\n"
    data = random.Random(1).randbytes(700_000)
    await environment.run(["cat"], stdin=data, on_output=(output := Output()).take)
    assert output.all == data


async def test_a_program_that_does_not_read_its_stdin_is_no_problem(environment: ShellEnvironment) -> None:
    path = await environment.resolve("made")
    stdin = f"x . touch {path}\nx + touch {path}\n".encode() * 20_000
    assert (await sh(environment, "exit 3", stdin=stdin)).code == 3
    assert await environment.stat(path) is None


async def test_what_a_failed_write_leaves_over_is_not_run(environment: ShellEnvironment) -> None:
    path = await environment.resolve("made")
    data = f"x . touch {path}\nx + touch {path}\n".encode() * 1000
    with pytest.raises(IsADirectoryError):
        await environment.write_bytes(environment.cwd, data)
    assert await environment.stat(path) is None


async def test_the_reader_sets_the_pace(environment: ShellEnvironment) -> None:
    seen = 0

    async def slow(data: bytes, stream: str) -> None:
        nonlocal seen
        seen += len(data)
        await asyncio.sleep(0.002)

    status = await environment.run(["sh", "-c", "head -c 2000000 /dev/zero"], on_output=slow)
    assert (status.code, seen) == (0, 2_000_000)


async def test_the_process_leads_a_group_of_its_own(environment: ShellEnvironment, seconds: str) -> None:
    assert (await sh(environment, "kill -0 -$$")).code == 0


async def test_variables_are_laid_over_those_of_the_far_side(environment: ShellEnvironment) -> None:
    output = Output()
    command = 'echo "$PI_CODING_AGENT $AI_AGENT $NEW ${HOME-unset}"'
    await sh(environment, command, output, env={"NEW": "a 'b'\n$c", "HOME": None})
    assert output.all == b"true piolet a 'b'\n$c unset\n"
    with pytest.raises(ValueError, match="no name of a variable"):
        await sh(environment, "true", env={"A B": "x"})


async def test_a_missing_program_and_a_missing_folder_are_told_apart(environment: ShellEnvironment) -> None:
    with pytest.raises(FileNotFoundError) as program:
        await environment.run(["no-such-program"])
    assert program.value.filename == "no-such-program"
    with pytest.raises(FileNotFoundError) as folder:
        await environment.run(["true"], cwd="/no/such/folder")
    assert folder.value.filename == "/no/such/folder"


async def test_the_shell_is_bash_or_the_one_asked_for(environment: ShellEnvironment) -> None:
    assert await environment.shell() == ["/bin/bash", "-c"]
    assert await environment.shell("/bin/sh") == ["/bin/sh", "-c"]
    with pytest.raises(ShellNotFound, match="Custom shell path not found: ~/no/shell"):
        await environment.shell("~/no/shell")


async def test_nothing_is_left_after_calls(environment: ShellEnvironment) -> None:
    for command in ("true", "echo a", "sleep 5"):
        await sh(environment, command, timeout=0.2)
    await environment.stat("/")
    descriptors, threads = len(os.listdir("/proc/self/fd")), threading.active_count()
    for _ in range(3):
        for command in ("echo a", "exec 1>&- 2>&-", "sleep 5"):
            await sh(environment, command, timeout=0.2)
    await environment.stat("/")
    assert len(os.listdir("/proc/self/fd")) <= descriptors
    assert threading.active_count() == threads
    assert len(asyncio.all_tasks()) == 1


async def test_names_of_files_may_hold_anything(environment: ShellEnvironment) -> None:
    names = ["a b", "*", "-x", "'", '"', "\\", "a\nb", "$HOME", "`id`", "ü", "~", "#", "%s", ".x", "..y", "\x1e"]
    names += [os.fsdecode(bytes([byte, 65])) for byte in range(1, 256) if byte != 47]
    for name in names[:16]:
        path = await environment.join(environment.cwd, name)
        await environment.write_bytes(path, name.encode("utf-8", "surrogateescape"))
        assert await environment.read_bytes(path) == name.encode("utf-8", "surrogateescape")
        assert await environment.canonical(path) == path
        info = await environment.stat(path)
        assert info is not None
        assert info.kind == "file"
    for name in names:
        Path(environment.cwd, name).touch()
    listed = [entry.name for entry in await environment.list_directory(environment.cwd)]
    assert sorted(listed) == sorted(set(names))
    assert (await environment.snapshot([os.path.join(environment.cwd, name) for name in names])).stamps.keys() == {
        os.path.join(environment.cwd, name) for name in names
    }
