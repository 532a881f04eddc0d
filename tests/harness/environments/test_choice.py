"""What ``--env`` takes."""

from __future__ import annotations

from pathlib import Path

import pytest

from piolet.harness.environments.choice import InvalidChoice, open_environment, parse_environment
from piolet.harness.environments.container import ContainerEnvironment
from piolet.harness.environments.local import LocalEnvironment
from piolet.harness.environments.sandbox import SandboxEnvironment
from piolet.harness.environments.ssh import SshEnvironment


@pytest.mark.parametrize(
    ("text", "host", "cwd"),
    [
        ("ssh:box", "box", "~"),
        ("ssh:me@box.example.org", "me@box.example.org", "~"),
        ("ssh:box:/srv/app", "box", "/srv/app"),
        ("ssh:box:~/app:2", "box", "~/app:2"),
        ("ssh:[::1]", "::1", "~"),
        ("ssh:me@[fe80::1]:app", "me@fe80::1", "app"),
    ],
)
async def test_ssh_takes_a_host_and_a_folder(text: str, host: str, cwd: str) -> None:
    environment = parse_environment(text, "/here")
    assert isinstance(environment, SshEnvironment)
    assert (environment.host, environment.cwd) == (host, cwd)
    await environment.close()


async def test_containers_are_of_an_image_or_there(tmp_path: Path) -> None:
    one = parse_environment("docker:registry.example.org:5000/img:tag", str(tmp_path))
    two = parse_environment("container:name", str(tmp_path))
    assert isinstance(one, ContainerEnvironment)
    assert isinstance(two, ContainerEnvironment)
    assert (one.name, one.cwd) == ("docker:registry.example.org:5000/img:tag", str(tmp_path))
    assert (two.name, two.cwd) == ("container:name", "")


@pytest.mark.parametrize(
    ("text", "network", "readable"),
    [
        ("sandbox", False, False),
        ("sandbox:network", True, False),
        ("sandbox:readable", False, True),
        ("sandbox:readable,network", True, True),
    ],
)
async def test_a_sandbox_may_have_a_network_and_show_the_home(
    text: str, network: bool, readable: bool, tmp_path: Path
) -> None:
    environment = parse_environment(text, str(tmp_path))
    assert isinstance(environment, SandboxEnvironment)
    argv = environment._options()
    assert ("--unshare-net" not in argv) == network
    assert (environment._readable_home) == readable
    await environment.close()


async def test_local_is_this_machine(tmp_path: Path) -> None:
    environment = await open_environment("local", str(tmp_path))
    assert isinstance(environment, LocalEnvironment)
    assert environment.cwd == str(tmp_path)


@pytest.mark.parametrize(
    "text",
    ["", "ssh", "ssh:", "ssh::/x", "docker", "docker:", "container:", "sandbox:", "sandbox:all", "vm:x", "local:x"],
)
def test_anything_else_is_refused_with_the_choices(text: str) -> None:
    with pytest.raises(InvalidChoice, match=r"no place for tools to act; there are local, sandbox, docker:IMAGE"):
        parse_environment(text, "/")


@pytest.mark.parametrize(
    "text", ["ssh:-oProxyCommand=x", "ssh:-x:/path", "docker:-v/:/x", "container:--help", "ssh:a b"]
)
def test_names_that_would_be_options_are_refused(text: str) -> None:
    with pytest.raises(InvalidChoice, match=r"is no host|names no container"):
        parse_environment(text, "/")
