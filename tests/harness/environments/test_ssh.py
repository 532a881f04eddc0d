"""An environment over a real ssh server: one connection, made anew when it breaks, and words for what goes wrong."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from piolet.agent.tools import ToolResult
from piolet.base.abort import AbortController
from piolet.harness.environments.base import Unreachable
from piolet.harness.environments.shell import ShellEnvironment
from piolet.harness.environments.ssh import SshEnvironment
from piolet.harness.tools.bash import create_bash_tool
from piolet.harness.tools.errors import ToolError
from piolet.llm.messages import TextContent
from tests.support.far import FarPlaces, NotHere
from tests.support.processes import running_with
from tests.support.sshd import SshServer
from tests.support.timing import until


@pytest.fixture
def server(far: FarPlaces) -> SshServer:
    try:
        return far.ssh_server()
    except NotHere as reason:
        pytest.skip(str(reason))


@pytest.fixture
async def environment(server: SshServer, tmp_path: Path) -> AsyncIterator[SshEnvironment]:
    environment = SshEnvironment("far", str(tmp_path), ssh=server.ssh)
    await environment.connect()
    yield environment
    await environment.close()


async def test_all_operations_share_one_connection(server: SshServer, environment: SshEnvironment) -> None:
    before = server.connections
    await asyncio.gather(*(environment.stat("/") for _ in range(20)), environment.run(["true"]))
    await environment.write_bytes(f"{environment.cwd}/f", b"x")
    assert server.connections == before


async def test_a_broken_connection_is_made_anew(server: SshServer, environment: SshEnvironment) -> None:
    path = f"{environment.cwd}/f"
    for content in (b"1", b"2"):
        server.break_connections()
        await environment.write_bytes(path, content)
        server.break_connections()
        assert await environment.read_bytes(path) == content
        server.break_connections()
        assert (await environment.run(["true"])).code == 0


async def test_a_connection_that_breaks_under_a_command_is_told(server: SshServer, environment: SshEnvironment) -> None:
    started = asyncio.Event()

    async def take(data: bytes, stream: str) -> None:
        started.set()

    running = asyncio.create_task(environment.run(["sh", "-c", "echo on; sleep 20"], on_output=take))
    await started.wait()
    server.break_connections()
    with pytest.raises(Unreachable, match="The connection to ssh:far was lost while the command ran"):
        await running
    assert (await environment.run(["true"])).code == 0


async def test_what_a_command_wrote_before_the_connection_broke_is_kept(
    server: SshServer, environment: SshEnvironment
) -> None:
    started = asyncio.Event()

    def note(result: ToolResult) -> None:
        if any(isinstance(block, TextContent) and "so far" in block.text for block in result.content):
            started.set()

    signal = AbortController().signal
    tool = create_bash_tool(environment)
    running = asyncio.create_task(tool.execute("1", {"command": "echo so far; sleep 20"}, signal, note))
    await started.wait()
    server.break_connections()
    with pytest.raises(ToolError, match=r"^so far\n\n\nThe connection to ssh:far was lost"):
        await running


async def test_more_commands_at_once_than_one_connection_carries(environment: SshEnvironment) -> None:
    statuses = await asyncio.gather(*(environment.run(["sleep", "0.5"]) for _ in range(13)))
    assert [status.code for status in statuses] == [0] * 13


async def test_without_a_folder_work_begins_at_home(server: SshServer) -> None:
    environment = SshEnvironment("far", ssh=server.ssh)
    await environment.connect()
    assert environment.cwd == await environment.resolve("~")
    below = SshEnvironment("far", "~/sub", ssh=server.ssh)
    with pytest.raises(Unreachable, match="ssh:far has no folder ~/sub that could be worked in"):
        await below.connect()
    Path(environment.cwd, "sub").mkdir()
    await below.connect()
    assert below.cwd == f"{environment.cwd}/sub"
    await environment.close()
    await below.close()


async def test_a_host_that_does_not_answer(server: SshServer, tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text("Host nobody\nHostName 127.0.0.1\nPort 1\n")
    environment = SshEnvironment("nobody", ssh=("ssh", "-F", str(config)))
    with pytest.raises(Unreachable, match=r"ssh:nobody cannot be reached: .*Connection refused"):
        await environment.connect()
    await environment.close()


async def test_a_host_that_does_not_let_us_in(server: SshServer, tmp_path: Path) -> None:
    config = tmp_path / "config"
    kept = [line for line in server.config.read_text().splitlines() if not line.startswith("IdentityFile")]
    config.write_text("\n".join([*kept, f"IdentityFile {tmp_path}/none"]))
    environment = SshEnvironment("far", ssh=("ssh", "-F", str(config)))
    with pytest.raises(Unreachable, match=r"ssh:far cannot be reached: .*Permission denied"):
        await environment.connect()
    await environment.close()


@pytest.mark.parametrize("host", ["-oProxyCommand=touch x", "", "a b", "a\nb", "-"])
def test_a_host_that_would_be_an_option_is_refused(host: str) -> None:
    with pytest.raises(ValueError, match="is no host"):
        SshEnvironment(host)


@pytest.mark.parametrize("login_shell", ["bash", "dash", "zsh", "fish", "tcsh", "mksh", "busybox"])
async def test_the_login_shell_may_be_any(login_shell: str, tmp_path: Path) -> None:
    """A stand-in for ssh gives its last argument to the login shell, as a server does."""
    path = shutil.which(login_shell)
    if path is None:
        pytest.skip(f"{login_shell} is not installed")
    stand_in = tmp_path / "ssh"
    applet = "ash " if login_shell == "busybox" else ""
    stand_in.write_text(f'#!/bin/sh\nfor last; do :; done\nexec {path} {applet}-c "$last"\n')
    stand_in.chmod(0o755)
    environment = SshEnvironment("far", str(tmp_path), ssh=(str(stand_in),))
    await environment.connect()
    await environment.write_bytes(f"{tmp_path}/it's $x \\n", b"\0\1\xff")
    assert await environment.read_bytes(f"{tmp_path}/it's $x \\n") == b"\0\1\xff"
    assert (await environment.run(["sh", "-c", "exit 7"])).code == 7
    environment._far = None  # there is no connection that could be ended
    await environment.close()


async def test_a_far_side_without_a_shell_is_told(tmp_path: Path) -> None:
    stand_in = tmp_path / "ssh"
    stand_in.write_text("#!/bin/sh\necho This account is currently not available.\nexit 1\n")
    stand_in.chmod(0o755)
    environment = SshEnvironment("far", ssh=(str(stand_in),))
    with pytest.raises(Unreachable, match=r"no POSIX shell \(sh\) to be had by ssh:far: This account is currently not"):
        await environment.connect()
    await environment.close()


async def test_a_program_that_is_not_installed_is_told() -> None:
    environment = ShellEnvironment(("no-such-engine", "exec"))
    with pytest.raises(Unreachable, match="no-such-engine is not installed here"):
        await environment.connect()


async def test_nothing_is_left_after_closing(server: SshServer, tmp_path: Path) -> None:
    before = set(os.listdir("/proc/self/fd"))
    environment = SshEnvironment("far", str(tmp_path), ssh=server.ssh)
    await environment.connect()
    folder = Path(environment._folder)
    assert folder.stat().st_mode & 0o777 == 0o700
    await environment.close()
    assert not folder.exists()
    assert set(os.listdir("/proc/self/fd")) <= before
    await until(lambda: not running_with(str(folder)))
