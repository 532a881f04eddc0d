"""This machine behind bubblewrap as an environment: the project can be written, the rest is read-only or hidden.

File operations go through the sandbox too, so that a link cannot lead a tool out of it. What is hidden: the homes of
all users, ``/run`` with its sockets, what is in ``/tmp``, and variables whose names sound like secrets. Instead there
are an empty home and an empty ``/tmp``, which last as long as the environment.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shutil
import signal as signals
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from piolet.harness.environments.far_calls import SignalName
from piolet.harness.environments.far_shell import FarShell
from piolet.harness.environments.processes import kill_group
from piolet.harness.environments.shell import ShellEnvironment, last_lines

_SECRET: Final = re.compile(r"KEY|TOKEN|SECRET|PASSW|PASSPH|CREDENTIAL|COOKIE|_AUTH(?!OR)|_PAT$|_SOCK$|^DBUS_", re.I)
_UNSHARED: Final = ("--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try")
#: What git runs outside of the sandbox when it next works on the project: it must not change.
_RUN_BY_GIT: Final = (".git/hooks", ".git/config")


class SandboxEnvironment(ShellEnvironment):
    """The folder `cwd` and, if it belongs to a git repository, all of that can be written.

    `network`: whether there is one. `readable_home`: the user's own home is read-only instead of hidden. `hidden`:
    folders that are hidden in any case. Needs Linux and the program ``bwrap``.
    """

    kind = "sandbox"

    def __init__(
        self,
        cwd: str,
        *,
        network: bool = False,
        readable_home: bool = False,
        hidden: Sequence[str] = (),
        home: str | None = None,
    ) -> None:
        super().__init__(("bwrap",), cwd=os.path.realpath(cwd))
        self._project = repository_root(self.cwd) or self.cwd
        self._network = network
        self._readable_home = readable_home
        self._hidden = tuple(map(os.path.realpath, hidden))
        self._home = os.path.realpath(home or os.path.expanduser("~"))
        self._own = tempfile.mkdtemp(prefix="piolet-sandbox-")
        self._settings = os.path.join(self.cwd, ".pi")
        self._had_settings = os.path.isdir(self._settings)
        for name in ("home", "tmp", "none"):
            os.mkdir(os.path.join(self._own, name), 0o700)

    @property
    def name(self) -> str:
        return "sandbox"

    async def close(self) -> None:
        """Remove the sandbox's own home and ``/tmp``."""
        await super().close()
        await asyncio.to_thread(self._remove)

    def _remove(self) -> None:
        shutil.rmtree(self._own, ignore_errors=True)
        if not self._had_settings:
            with contextlib.suppress(OSError):
                os.rmdir(self._settings)

    def _argv(self) -> list[str]:
        options = ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", *_UNSHARED, "--cap-drop", "ALL"]
        if not self._network:
            options.append("--unshare-net")
        for folder in ("/home", "/root", "/run"):
            if os.path.isdir(folder) and not os.path.islink(folder):
                options += ["--tmpfs", folder]
        resolver = os.path.realpath("/etc/resolv.conf")
        if self._network and resolver.startswith("/run/"):
            options += ["--ro-bind", resolver, resolver]
        options += ["--bind", f"{self._own}/tmp", "/tmp"]
        if self._readable_home:
            options += ["--ro-bind", self._home, self._home]
        elif self._home != "/" and os.path.isdir(self._home):
            options += ["--bind", f"{self._own}/home", self._home]
        hidden = [folder for folder in self._hidden if os.path.isdir(folder)]
        options += [word for folder in hidden if self._is_around(folder) for word in ("--tmpfs", folder)]
        options += ["--bind-try", self._project, self._project]
        options += [word for folder in hidden if not self._is_around(folder) for word in ("--tmpfs", folder)]
        for name in _RUN_BY_GIT:
            path = os.path.join(self._project, name)
            options += ["--ro-bind-try", path, path]
        if os.path.isdir(os.path.dirname(self._settings)):
            # Extensions of the project run outside of the sandbox: none may be put there from inside.
            shown = self._settings if os.path.isdir(self._settings) else f"{self._own}/none"
            options += ["--ro-bind", shown, self._settings]
        return ["bwrap", *options, "--chdir", "/", *super()._argv()[1:]]

    def _variables(self) -> Mapping[str, str]:
        kept = {name: value for name, value in os.environ.items() if not _SECRET.search(name)}
        return kept | {"HOME": self._home, "TMPDIR": "/tmp"}

    def _surroundings(self) -> object:
        """Return which folder is mounted: a new one in its place would not be seen."""
        try:
            found = os.stat(self.cwd)
        except OSError:
            return None
        return found.st_dev, found.st_ino

    async def _signal(self, shell: FarShell, name: SignalName, group: int) -> None:
        """Send it from outside: another command would be in another sandbox, which sees nothing of this one."""
        if name == "KILL":  # the first process of a sandbox takes all others with it
            kill_group(shell.pid)
            return
        process = await asyncio.to_thread(_process_of, shell.pid, group)
        if process is not None:
            with contextlib.suppress(OSError):
                os.killpg(process, signals.SIGTERM)

    def _explain(self, code: int | None, text: str) -> str:
        if text.startswith("bwrap: "):
            return f"The sandbox cannot be made: {last_lines(text)}"
        return super()._explain(code, text)

    def _is_around(self, folder: str) -> bool:
        return os.path.commonpath([folder, self._project]) == folder


def repository_root(folder: str) -> str | None:
    """Return the nearest folder at or above `folder` that has ``.git``, None if there is none."""
    while not os.path.lexists(os.path.join(folder, ".git")):
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent
    return folder


def _process_of(ancestor: int, inner: int) -> int | None:
    """Return the process below `ancestor` whose id in its sandbox is `inner`."""
    waiting = [ancestor]
    while waiting:
        process = waiting.pop()
        try:
            status = Path(f"/proc/{process}/status").read_text()
            children = [path.read_text().split() for path in Path(f"/proc/{process}/task").glob("*/children")]
        except OSError:  # gone meanwhile
            continue
        if re.search(rf"^NSpid:.*\s{inner}$", status, re.MULTILINE):
            return process
        waiting += [int(child) for some in children for child in some]
    return None
