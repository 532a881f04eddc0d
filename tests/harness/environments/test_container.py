"""Containers: what the engine is asked, and that what was run for a session goes with it.

A stand-in for the engine writes down its arguments and runs commands here; a real engine is used where one answers (see
`tests.support.far`).
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from piolet.harness.environments.base import Unreachable
from piolet.harness.environments.container import ContainerEnvironment, answering_engine
from piolet.harness.environments.far_scripts import LAUNCHER
from tests.support.far import NAMES, why_no_engine
from tests.support.run import ROOT

STAND_IN = """#!/bin/bash
printf '%s\\0' "$@" >>"$0.log"
echo >>"$0.log"
case $1 in
  version) exit 0 ;;
  run) while [ "$1" != -c ]; do shift; done; exec sh -c "$2" ;;
  exec) shift 3; exec "$@" ;;
  kill) ;;
esac
"""


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The stand-in, as docker on the PATH."""
    path = tmp_path / "docker"
    path.write_text(STAND_IN)
    path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    return path


def calls(engine: Path) -> list[list[str]]:
    return [line.split("\0")[:-1] for line in Path(f"{engine}.log").read_text().split("\n")[:-1]]


async def test_a_container_of_an_image_has_the_project_and_goes_with_the_session(engine: Path, tmp_path: Path) -> None:
    environment = ContainerEnvironment(image="img:1", cwd=str(tmp_path))
    await environment.connect()
    await environment.write_bytes(f"{tmp_path}/f", b"x")
    await environment.close()
    version, run, first, *others, last = calls(engine)
    name = run[run.index("--name") + 1]
    assert version == ["version"]
    assert run[:-1] == [
        *("run", "--rm", "-i", "--name", name, "--entrypoint", "sh"),
        *("--volume", f"{tmp_path}:{tmp_path}", "--workdir", str(tmp_path), "img:1", "-c"),
    ]
    assert name.startswith("piolet-")
    assert first == ["exec", "-i", name, "sh", "-c", LAUNCHER]
    assert all(call == first for call in others)
    assert last == ["kill", name]


async def test_a_container_that_is_there_is_only_used(engine: Path) -> None:
    environment = ContainerEnvironment("mine")
    await environment.connect()
    assert (await environment.run(["sh", "-c", "exit 4"])).code == 4
    await environment.close()
    assert {tuple(call[:3]) for call in calls(engine)} == {("version",), ("exec", "-i", "mine")}


@pytest.mark.parametrize("name", ["-v/:/host", "", "a b", "--privileged"])
def test_a_name_that_would_be_an_option_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="names no container"):
        ContainerEnvironment(name)
    with pytest.raises(ValueError, match="names no container"):
        ContainerEnvironment(image=name)


async def test_an_image_without_a_shell_is_told(engine: Path) -> None:
    engine.write_text(
        "#!/bin/sh\n[ $1 = version ] || { echo 'exec: \"sh\": executable file not found in $PATH' >&2; exit 127; }\n"
    )
    environment = ContainerEnvironment(image="empty")
    with pytest.raises(Unreachable, match=r"no POSIX shell \(sh\) to be had by docker:empty: exec: \"sh\": executable"):
        await environment.connect()
    await environment.close()


async def test_a_container_that_is_not_there_is_told(engine: Path) -> None:
    engine.write_text("#!/bin/sh\n[ $1 = version ] || { echo 'Error: No such container: x' >&2; exit 1; }\n")
    environment = ContainerEnvironment("x")
    with pytest.raises(Unreachable, match="container:x cannot be used: Error: No such container: x"):
        await environment.connect()
    await environment.close()


def test_an_engine_that_does_not_answer_gives_way_to_the_other(engine: Path, tmp_path: Path) -> None:
    (tmp_path / "podman").write_text(STAND_IN)
    (tmp_path / "podman").chmod(0o755)
    assert answering_engine() == ("docker",)
    engine.write_text("#!/bin/sh\necho 'Cannot connect to the Docker daemon' >&2\nexit 1\n")
    assert answering_engine() == ("podman",)
    (tmp_path / "podman").write_text("#!/bin/sh\nexit 1\n")
    with pytest.raises(Unreachable, match="No container can be used: docker: Cannot connect to the Docker daemon; pod"):
        answering_engine()


def test_a_real_engine_is_used_where_one_answers() -> None:
    """The other tests of far sides have containers of it then."""
    if reason := why_no_engine():
        pytest.skip(reason)
    assert "container" in NAMES


def test_a_container_does_not_outlive_a_killed_process(engine: Path, tmp_path: Path) -> None:
    code = f"""
import asyncio, time
from piolet.harness.environments.container import ContainerEnvironment
asyncio.run(ContainerEnvironment(image="img", cwd={str(tmp_path)!r}).connect())
print("connected", flush=True)
time.sleep(30)
"""
    env = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    with subprocess.Popen([sys.executable, "-c", code], env=env, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"connected\n"
        keeper = [pid for pid in children(process.pid) if b"cat >/dev/null; exit 0" in cmdline(pid)]
        assert keeper
        os.kill(process.pid, signal.SIGKILL)
    deadline = time.monotonic() + 5
    while any(cmdline(pid) for pid in keeper):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def children(pid: int) -> list[int]:
    return [int(child) for path in Path(f"/proc/{pid}/task").glob("*/children") for child in path.read_text().split()]


def cmdline(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""
