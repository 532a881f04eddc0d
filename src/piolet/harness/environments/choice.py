"""The choice of where tools act, as ``piolet --env`` and the setting ``piolet.environment`` write it.

``local``, ``sandbox``, ``docker:IMAGE``, ``container:NAME`` or ``ssh:HOST[:PATH]``. Behind ``sandbox:`` may stand
``network`` (the sandbox has one) and ``readable`` (the home is read-only instead of hidden), with a comma between.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from piolet.base.regex import compiled_later
from piolet.harness.environments.base import Environment
from piolet.harness.environments.local import LocalEnvironment

_SSH: Final = compiled_later(r"(?:(?P<user>[^@\[\]:]+@)?\[(?P<address>[^\]]+)\]|(?P<host>[^:\[\]]+))(?::(?P<path>.+))?")
_SANDBOX: Final = {"network", "readable"}


class InvalidChoice(ValueError):
    """A text that names no environment; it says what would."""


def parse_environment(text: str, cwd: str, *, hidden: Sequence[str] = ()) -> Environment:
    """Return the environment that `text` names, not yet connected; `cwd` is the working folder on this machine.

    `hidden`: folders that a sandbox never shows. Raises `InvalidChoice`.
    """
    kind, colon, rest = text.partition(":")
    try:
        if kind == "local" and not colon:
            return LocalEnvironment(cwd)
        if kind == "sandbox" and (words := set(rest.split(",")) if colon else set()) <= _SANDBOX:
            from piolet.harness.environments.sandbox import SandboxEnvironment

            readable = "readable" in words
            return SandboxEnvironment(cwd, network="network" in words, readable_home=readable, hidden=hidden)
        if kind in ("docker", "container") and rest:
            from piolet.harness.environments.container import ContainerEnvironment

            if kind == "docker":
                return ContainerEnvironment(image=rest, cwd=cwd)
            return ContainerEnvironment(rest)
        if kind == "ssh" and (found := _SSH.fullmatch(rest)):
            from piolet.harness.environments.ssh import SshEnvironment

            host = found["host"] or f"{found['user'] or ''}{found['address']}"
            return SshEnvironment(host, found["path"])
    except ValueError as error:
        raise InvalidChoice(str(error)) from None
    raise InvalidChoice(
        f"{text!r} is no place for tools to act; there are local, sandbox, docker:IMAGE, container:NAME and "
        "ssh:HOST[:PATH]"
    )


async def open_environment(text: str, cwd: str, *, hidden: Sequence[str] = ()) -> Environment:
    """Return the environment that `text` names, ready for use. Raises `InvalidChoice`, `Unreachable`."""
    from piolet.harness.environments.shell import ShellEnvironment

    environment = parse_environment(text, cwd, hidden=hidden)
    if isinstance(environment, ShellEnvironment):
        try:
            await environment.connect()
        except BaseException:
            await environment.close()
            raise
    return environment
