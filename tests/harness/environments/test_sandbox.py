"""The sandbox: what can be written, what is hidden, and that no tool is led out of it."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from piolet.harness.environments.base import Unreachable
from piolet.harness.environments.sandbox import SandboxEnvironment

pytestmark = pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    (folder / "secret").write_text("hidden treasure")
    return folder


@pytest.fixture
async def sandbox(tmp_path: Path, home: Path) -> AsyncIterator[Callable[..., Any]]:
    """Make sandboxes over a project that has settings, and a git repository."""
    project = tmp_path / "project"
    (project / ".pi").mkdir(parents=True)
    (project / "sub").mkdir()
    subprocess.run(["git", "init", "-q", project], check=True)
    made = []

    async def make(folder: str = "", **options: Any) -> SandboxEnvironment:
        environment = SandboxEnvironment(str(project / folder), home=str(home), **options)
        made.append(environment)
        try:
            await environment.connect()
        except Unreachable as error:
            if "sandbox cannot be made" in str(error):
                pytest.skip(str(error))
            raise
        return environment

    yield make
    for environment in made:
        await environment.close()


async def output(environment: SandboxEnvironment, command: str) -> str:
    parts: list[bytes] = []

    async def take(data: bytes, stream: str) -> None:
        parts.append(data)

    await environment.run(["sh", "-c", command], on_output=take)
    return b"".join(parts).decode()


async def test_the_project_can_be_written_and_nothing_else(sandbox: Callable[..., Any], tmp_path: Path) -> None:
    environment = await sandbox()
    await environment.write_bytes(f"{environment.cwd}/new/file", b"x")
    assert (tmp_path / "project/new/file").read_bytes() == b"x"
    for path in ("/etc/piolet-test", "/usr/piolet-test", "/piolet-test"):
        with pytest.raises(OSError, match="Read-only file system"):
            await environment.write_bytes(path, b"x")
        assert not Path(path).exists()
    assert "Read-only file system" in await output(environment, "touch /var/piolet-test")


async def test_what_is_written_elsewhere_stays_in_the_sandbox(
    sandbox: Callable[..., Any], tmp_path: Path, home: Path
) -> None:
    environment = await sandbox()
    await environment.write_bytes(f"{tmp_path}/beside", b"x")
    await environment.write_bytes(f"{home}/.profile", b"x")
    assert not (tmp_path / "beside").exists()
    assert [path.name for path in home.iterdir()] == ["secret"]
    assert (await output(environment, "cat ~/.profile; echo kept >/tmp/kept")) == "x"
    assert await environment.read_bytes("/tmp/kept") == b"kept\n"
    assert not Path("/tmp/kept").exists()


async def test_a_link_does_not_lead_out(sandbox: Callable[..., Any], tmp_path: Path, home: Path) -> None:
    environment = await sandbox()
    outside = tmp_path / "outside"
    outside.write_text("original")
    project = tmp_path / "project"
    for name, target in {"a": outside, "b": home / "secret", "c": "/etc/piolet-test"}.items():
        (project / name).symlink_to(target)
    await environment.write_bytes(f"{project}/a", b"changed")
    assert outside.read_text() == "original"
    with pytest.raises(FileNotFoundError):
        await environment.read_bytes(f"{project}/b")
    with pytest.raises(OSError, match="Read-only"):
        await environment.write_bytes(f"{project}/c", b"x")


async def test_the_home_is_hidden_or_readable(sandbox: Callable[..., Any], home: Path) -> None:
    assert await (await sandbox()).stat(f"{home}/secret") is None
    environment = await sandbox(readable_home=True)
    assert await environment.read_bytes(f"{home}/secret") == b"hidden treasure"
    with pytest.raises(OSError, match=r"Permission denied|Read-only"):
        await environment.write_bytes(f"{home}/secret", b"x")


async def test_homes_sockets_and_chosen_folders_are_hidden(sandbox: Callable[..., Any], tmp_path: Path) -> None:
    agent = tmp_path / "agent"
    agent.mkdir()
    (agent / "auth.json").write_text("{}")
    inside = tmp_path / "project" / "agent"
    inside.mkdir()
    (inside / "auth.json").write_text("{}")
    environment = await sandbox(readable_home=True, hidden=[str(agent), str(inside)])
    for folder in ("/run", str(agent), str(inside)):
        assert await environment.list_directory(folder) == []
    assert [entry.name for entry in await environment.list_directory("/home")] in ([], ["home"])


async def test_a_project_inside_a_hidden_folder_is_seen(tmp_path: Path, home: Path) -> None:
    project = tmp_path / "agent" / "project"
    project.mkdir(parents=True)
    (tmp_path / "agent" / "auth.json").write_text("{}")
    environment = SandboxEnvironment(str(project), home=str(home), hidden=[str(tmp_path / "agent")])
    await environment.connect()
    assert [entry.name for entry in await environment.list_directory(str(tmp_path / "agent"))] == ["project"]
    await environment.close()
    assert list(project.iterdir()) == []


async def test_variables_that_sound_like_secrets_do_not_get_in(
    sandbox: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "DB_PASSWORD", "SSH_AUTH_SOCK", "npm_auth"):
        monkeypatch.setenv(name, "treasure")
    monkeypatch.setenv("GIT_AUTHOR_NAME", "me")
    shown = await output(await sandbox(), "env")
    assert "treasure" not in shown.replace("npm_auth", "")
    assert "GIT_AUTHOR_NAME=me" in shown


async def test_there_is_no_network_unless_it_is_asked_for(sandbox: Callable[..., Any]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        command = f"exec 3<>/dev/tcp/127.0.0.1/{server.getsockname()[1]} && echo reached"
        assert "reached" not in await output(await sandbox(), f"bash -c '{command}'")
        assert "reached" in await output(await sandbox(network=True), f"bash -c '{command}'")


async def test_nothing_can_be_left_for_programs_outside_to_run(sandbox: Callable[..., Any], tmp_path: Path) -> None:
    environment = await sandbox()
    project = tmp_path / "project"
    for path in (".pi/extensions/x.py", ".git/hooks/pre-commit", ".git/config"):
        with pytest.raises(OSError, match=r"Permission denied|Read-only"):
            await environment.write_bytes(f"{project}/{path}", b"x")
    assert "busy" in await output(environment, "mv .pi other 2>&1; mv .git/hooks x 2>&1")
    assert (await environment.run(["git", "add", "."])).code == 0


async def test_settings_cannot_be_made_either_and_leave_no_trace(sandbox: Callable[..., Any], tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / ".pi").rmdir()
    environment = await sandbox()
    with pytest.raises(OSError, match="Read-only"):
        await environment.write_bytes(f"{project}/.pi/settings.json", b"{}")
    await environment.close()
    assert not (project / ".pi").exists()


async def test_all_of_a_repository_can_be_written_from_a_folder_in_it(
    sandbox: Callable[..., Any], tmp_path: Path
) -> None:
    environment = await sandbox("sub")
    await environment.write_bytes(f"{tmp_path}/project/top", b"x")
    assert (tmp_path / "project/top").exists()
    assert (await environment.run(["git", "status"])).code == 0


async def test_it_has_no_powers_and_sees_no_other_process(sandbox: Callable[..., Any]) -> None:
    environment = await sandbox()
    shown = await output(environment, "grep -E 'Cap(Eff|Prm)|NoNewPrivs' /proc/self/status; echo; ls /proc")
    assert shown.count("0000000000000000") == 2
    assert "NoNewPrivs:\t1" in shown
    assert str(os.getpid()) not in shown.split()


async def test_a_folder_that_is_replaced_is_seen_anew(sandbox: Callable[..., Any], tmp_path: Path) -> None:
    environment = await sandbox()
    project = tmp_path / "project"
    shutil.rmtree(project)
    assert await environment.stat(f"{project}/a") is None
    project.mkdir()
    (project / "a").write_text("new")
    assert await environment.read_bytes(f"{project}/a") == b"new"


async def test_closing_removes_what_it_made(sandbox: Callable[..., Any]) -> None:
    environment = await sandbox()
    own = Path(environment._own)
    await output(environment, "mkdir -p ~/a /tmp/b; chmod 0 ~/a")
    await environment.close()
    assert not own.exists()
