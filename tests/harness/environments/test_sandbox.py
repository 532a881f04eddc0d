"""The sandbox: what can be written, what is hidden, and that no tool is led out of it."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from piolet.harness.environments.base import Unreachable
from piolet.harness.environments.repository import git_folder
from piolet.harness.environments.sandbox import SandboxEnvironment
from tests.support.far import why_no_sandbox
from tests.support.run import ROOT

pytestmark = pytest.mark.skipif(why_no_sandbox() is not None, reason=str(why_no_sandbox()))


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
        await environment.connect()
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
    for name in ("MY_PASS", "DB_PWD", "CREDENTIALS"):
        monkeypatch.setenv(name, "treasure")
    monkeypatch.setenv("DATABASE_URL", "pg://me:treasure@host/db")
    monkeypatch.setenv("HOMEPAGE", "https://host:8080/a@b")
    monkeypatch.setenv("GIT_AUTHOR_NAME", "me")
    shown = await output(await sandbox(), "env")
    assert "treasure" not in shown.replace("npm_auth", "")
    assert "GIT_AUTHOR_NAME=me" in shown
    assert "HOMEPAGE=https://host:8080/a@b" in shown


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


async def test_hooks_cannot_be_made_where_a_repository_has_none(sandbox: Callable[..., Any], tmp_path: Path) -> None:
    hooks = tmp_path / "project" / ".git" / "hooks"
    shutil.rmtree(hooks)
    environment = await sandbox()
    with pytest.raises(OSError, match=r"Permission denied|Read-only"):
        await environment.write_bytes(str(hooks / "pre-commit"), b"x")
    assert (await environment.run(["git", "add", "."])).code == 0


@pytest.mark.parametrize("had_settings", [True, False])
async def test_settings_of_the_whole_repository_are_safe_from_a_folder_in_it(
    sandbox: Callable[..., Any], tmp_path: Path, had_settings: bool
) -> None:
    project = tmp_path / "project"
    if not had_settings:
        (project / ".pi").rmdir()
    environment = await sandbox("sub")
    with pytest.raises(OSError, match=r"Permission denied|Read-only"):
        await environment.write_bytes(str(project / ".pi" / "settings.json"), b"x")
    await environment.close()
    assert (project / ".pi").exists() == had_settings


async def test_no_folder_can_take_the_place_of_one_whose_settings_are_kept(
    sandbox: Callable[..., Any], tmp_path: Path
) -> None:
    project = tmp_path / "project"
    settings = project / "sub" / "inner" / ".pi"
    settings.mkdir(parents=True)
    environment = await sandbox("sub/inner")
    moves = f"cd {project}; mv sub a; mv sub/inner b; rm -rf sub"
    await output(environment, f"{moves}; mkdir -p {settings}; echo x >{settings}/x")
    assert list(settings.iterdir()) == []
    for path in ("sub/inner/file", "sub/file"):
        await environment.write_bytes(f"{project}/{path}", b"x")
        assert (project / path).exists()
    assert (await environment.run(["git", "add", "../file"])).code == 0


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


async def test_the_pipes_of_its_shells_cannot_be_replaced_or_made(sandbox: Callable[..., Any]) -> None:
    environment = await sandbox()
    moved = "for f in /dev/piolet/*; do mv $f $f.x; done"
    for command in (moved, ": > /dev/piolet/99.0", "ln -s x /dev/piolet/y"):
        assert "Read-only file system" in await output(environment, f"{{ {command}; }} 2>&1")
    assert await output(environment, "echo still works") == "still works\n"


@pytest.mark.parametrize("own_settings", [False, True])
async def test_git_is_led_to_no_other_settings(sandbox: Callable[..., Any], tmp_path: Path, own_settings: bool) -> None:
    project = tmp_path / "project"
    if own_settings:
        subprocess.run(["git", "config", "extensions.worktreeConfig", "true"], cwd=project, check=True)
    environment = await sandbox()
    evil = (
        "mkdir evil; cp -r .git/objects .git/refs .git/HEAD evil; printf '[core]\\n fsmonitor=\"touch run; false\"\\n'"
    )
    lead = "echo ../evil > .git/commondir; cp evil/config .git/config.worktree; mv .git/commondir .git/c"
    await output(environment, f"{evil} > evil/config; {lead}; git add -A; git gc -q")
    for end in (False, True):
        if end:
            await environment.close()
        subprocess.run(["git", "status"], cwd=project, check=True, stdout=subprocess.DEVNULL)
        assert not (project / "run").exists()
    assert not (project / ".git/commondir").exists()


async def test_another_worktree_of_the_repository_is_not_led_away(tmp_path: Path, home: Path) -> None:
    main, other = home / "main", home / "other"
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run(["git", "init", "-q", main], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "x"], cwd=main, check=True)
    subprocess.run(["git", "worktree", "add", "-q", other], cwd=main, check=True)
    environment = SandboxEnvironment(str(main), home=str(home))
    await environment.connect()
    assert "Read-only" in await output(environment, "{ echo /evil > .git/worktrees/other/commondir; } 2>&1")
    await output(environment, "mv .git/worktrees/other x; mv .git/worktrees y; mkdir -p .git/worktrees/other")
    await environment.close()
    assert subprocess.run(["git", "status"], cwd=other, stdout=subprocess.DEVNULL, check=False).returncode == 0


@pytest.mark.parametrize(("link", "target"), [(".git", "real.git"), (".git/hooks", "../hooks"), (".pi", "conf")])
def test_what_is_kept_from_change_must_not_be_a_link(tmp_path: Path, home: Path, link: str, target: str) -> None:
    subprocess.run(["git", "init", "-q", tmp_path / "p"], check=True)
    place = tmp_path / "p" / link
    if place.exists():
        place.rename(tmp_path / "p" / "moved")
    (place.parent / target).mkdir(parents=True)
    place.symlink_to(target)
    with pytest.raises(ValueError, match="is a symbolic link"):
        SandboxEnvironment(str(tmp_path / "p"), home=str(home))


def test_settings_must_not_lead_to_files_that_can_be_changed(tmp_path: Path, home: Path) -> None:
    (tmp_path / "p/.pi").mkdir(parents=True)
    (tmp_path / "p/settings.json").write_text("{}")
    (tmp_path / "p/.pi/settings.json").symlink_to("../settings.json")
    with pytest.raises(ValueError, match="is a symbolic link"):
        SandboxEnvironment(str(tmp_path / "p"), home=str(home))


async def test_what_a_second_sandbox_still_needs_stays(sandbox: Callable[..., Any], tmp_path: Path) -> None:
    shutil.rmtree(tmp_path / "project/.pi")
    first = await sandbox()
    second = await sandbox()
    await first.close()
    assert "Read-only" in await output(second, "{ mkdir -p .pi/extensions; echo x > .git/commondir; } 2>&1")


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


async def test_commands_share_one_sandbox(sandbox: Callable[..., Any]) -> None:
    environment = await sandbox()
    started = await output(environment, "python3 -m http.server 8123 --bind 127.0.0.1 >/dev/null 2>&1 & echo $!")
    command = "exec 3<>/dev/tcp/127.0.0.1/8123 && printf 'HEAD / HTTP/1.0\\r\\n\\r\\n' >&3 && head -n 1 <&3"
    for _ in range(50):
        answer = await output(environment, f'bash -c "{command}" 2>&1')
        if "200 OK" in answer:
            break
        await asyncio.sleep(0.1)
    assert "200 OK" in answer
    assert await output(environment, f"kill {int(started)} && echo ended") == "ended\n"


async def test_everything_in_it_ends_with_it(sandbox: Callable[..., Any], tmp_path: Path) -> None:
    environment = await sandbox()
    await output(environment, "setsid sh -c 'while sleep 0.05; do echo x >>alive; done' >/dev/null 2>&1 &")
    await environment.close()
    alive = tmp_path / "project" / "alive"
    size = alive.stat().st_size if alive.exists() else 0
    await asyncio.sleep(0.3)
    assert (alive.stat().st_size if alive.exists() else 0) == size


def test_nothing_in_it_outlives_a_killed_process(tmp_path: Path, home: Path) -> None:
    project = tmp_path / "killed"
    project.mkdir()
    code = f"""
import asyncio, time
from piolet.harness.environments.sandbox import SandboxEnvironment
async def main():
    environment = SandboxEnvironment({str(project)!r}, home={str(home)!r})
    await environment.connect()
    await environment.run(["sh", "-c", "setsid sh -c 'while sleep 0.05; do echo x >>alive; done' >/dev/null 2>&1 &"])
    print("running", flush=True)
    time.sleep(30)
asyncio.run(main())
"""
    env = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    with subprocess.Popen([sys.executable, "-c", code], env=env, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        if process.stdout.readline() != b"running\n":
            pytest.skip("no sandbox can be made here")
        process.kill()
    alive = project / "alive"
    deadline = time.monotonic() + 60
    while True:
        size = alive.stat().st_size if alive.exists() else 0
        time.sleep(0.3)
        if (alive.stat().st_size if alive.exists() else 0) == size:
            break
        assert time.monotonic() < deadline


async def test_a_starter_that_was_killed_inside_is_replaced(sandbox: Callable[..., Any]) -> None:
    environment = await sandbox()
    with pytest.raises(Unreachable, match="lost while the command ran"):
        await output(environment, "kill -9 2; kill -9 -1")
    assert await environment.stat(environment.cwd) is not None
    assert await output(environment, "echo again") == "again\n"


async def test_a_linked_worktree_may_write_its_repository(tmp_path: Path, home: Path) -> None:
    main, linked = home / "main", home / "linked"
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run(["git", "init", "-q", main], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "x"], cwd=main, check=True)
    subprocess.run(["git", "worktree", "add", "-q", linked], cwd=main, check=True)
    environment = SandboxEnvironment(str(linked), home=str(home))
    await environment.connect()
    assert (await environment.run([*git, "commit", "-q", "--allow-empty", "-m", "y"])).code == 0
    assert await environment.stat(f"{main}/.git/HEAD") is not None
    with pytest.raises(OSError, match=r"Permission denied|Read-only"):
        await environment.write_bytes(f"{main}/.git/config", b"x")
    assert "busy" in await output(environment, "mv .git other 2>&1")
    assert "Read-only" in await output(environment, "{ echo gitdir: other > .git; } 2>&1")
    await environment.close()


def test_a_git_file_opens_no_folder_that_does_not_know_it(tmp_path: Path) -> None:
    target = tmp_path / "secrets"
    (target / "objects").mkdir(parents=True)
    (target / "commondir").write_text(".\n")
    (target / "gitdir").write_text("/elsewhere/.git\n")
    project = tmp_path / "project"
    project.mkdir()
    (project / ".git").write_text(f"gitdir: {target}\n")
    assert git_folder(str(project)) is None
    (target / "gitdir").write_text(f"{project}/.git\n")
    assert git_folder(str(project)) == str(target)


def test_a_folder_that_holds_the_home_is_refused(home: Path) -> None:
    for folder in (home, home.parent, Path("/")):
        with pytest.raises(ValueError, match="holds your home"):
            SandboxEnvironment(str(folder), home=str(home))


async def test_a_repository_around_the_home_is_not_opened(home: Path) -> None:
    subprocess.run(["git", "init", "-q", home], check=True)
    project = home / "project"
    project.mkdir()
    environment = SandboxEnvironment(str(project), home=str(home))
    await environment.connect()
    assert await environment.stat(f"{home}/secret") is None
    await environment.close()
