"""A machine that is reached by ssh as an environment. All commands share one connection; a broken one is replaced."""

from __future__ import annotations

import asyncio
import re
import shlex
import shutil
import tempfile
from collections.abc import Sequence
from typing import Final

from piolet.harness.environments.far_scripts import LAUNCHER
from piolet.harness.environments.shell import ShellEnvironment, last_lines

#: What ssh itself exits with when it cannot connect, or loses the connection.
_LOST: Final = 255
_OPTIONS: Final = (
    "-T",
    "-oBatchMode=yes",
    "-oConnectTimeout=15",
    "-oServerAliveInterval=5",
    "-oServerAliveCountMax=3",
    "-oControlMaster=auto",
    "-oControlPersist=600",
    "-oForwardX11=no",
    "-oClearAllForwardings=yes",
    "-oLogLevel=ERROR",
)
_HOST: Final = re.compile(r"[^-\s\0-\x1f][^\s\0-\x1f]*")


class SshEnvironment(ShellEnvironment):
    """The host `host`, as ssh and its configuration understand the name; `cwd` is a folder there, by default the home.

    `ssh` is the program with options of its own. Nothing is ever asked: keys must work without a question. Raises
    ValueError for a host that ssh would take for an option.
    """

    kind = "ssh"

    def __init__(self, host: str, cwd: str | None = None, *, ssh: Sequence[str] = ("ssh",)) -> None:
        if not _HOST.fullmatch(host):
            raise ValueError(f"{host!r} is no host: a name begins with a letter or a digit, and holds no blanks")
        self.host = host
        self._ssh = tuple(ssh)
        self._folder = tempfile.mkdtemp(prefix="piolet-ssh-")
        super().__init__((*ssh, *_OPTIONS, f"-oControlPath={self._folder}/s", "--", host), cwd=cwd or "~")

    @property
    def name(self) -> str:
        return f"ssh:{self.host}"

    async def close(self) -> None:
        """End the connection."""
        await super().close()
        from piolet.harness.environments.processes import run_process

        if self._far is not None:
            argv = [*self._ssh, f"-oControlPath={self._folder}/s", "-Oexit", "--", self.host]
            await run_process(argv, cwd="/", env=self._variables(), timeout=5)
        await asyncio.to_thread(shutil.rmtree, self._folder, ignore_errors=True)

    def _argv(self) -> list[str]:
        # To the login shell of the far side, whichever that is, it is one constant text.
        return [*self.prefix, f"exec sh -c {shlex.quote(LAUNCHER)}"]

    def _explain(self, code: int | None, text: str) -> str:
        if code == _LOST:
            return f"{self.name} cannot be reached: {last_lines(text) or 'the connection was closed'}"
        return super()._explain(code, text)
