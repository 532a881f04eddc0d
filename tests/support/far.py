"""Environments on a far side, real ones: made when a test first asks for them, shared, closed at the end.

All of them see one folder of this machine, so that a test can put files there and look at what became of them.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

from msgspec.structs import replace

from piolet.harness.environments.base import Unreachable
from piolet.harness.environments.container import ContainerEnvironment, answering_engine
from piolet.harness.environments.sandbox import SandboxEnvironment
from piolet.harness.environments.shell import ShellEnvironment
from piolet.harness.environments.ssh import SshEnvironment
from tests.support.sshd import SshServer, why_no_server


def why_no_engine() -> str | None:
    """Return why no container can be used here; None if an engine answers."""
    try:
        answering_engine()
    except Unreachable as error:
        return str(error)
    return None


@functools.cache
def why_no_sandbox() -> str | None:
    """Return why no sandbox can be made here; None if one can."""
    apart = ["--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-net", "--cap-drop", "ALL"]
    command = ["bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", *apart, "true"]
    try:
        tried = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return "bubblewrap is not installed"
    return None if tried.returncode == 0 else f"no sandbox can be made: {tried.stderr.strip()}"


#: Without ripgrep, the search runs here over what is fetched. Of containers `test_container` tells why there are none.
NAMES = (
    *("shell", "busybox", "sandbox", "ssh", "ssh-without-ripgrep"),
    *(["container"] if why_no_engine() is None else []),
)
#: Other programs that may be the far side's ``sh``.
SHELLS = ("bash", "mksh", "ksh", "zsh")
IMAGE = "localhost/piolet-test:latest"
_PROGRAMS = (
    *("bash", "sh", "cat", "chmod", "cp", "env", "grep", "head", "ls", "mkdir", "mv", "nohup", "printf", "readlink"),
    *("rm", "seq", "setsid", "sleep", "stat", "tail", "touch", "tr", "true", "wc"),
)


class NotHere(Exception):
    """Such an environment cannot be had on this machine; the text says why."""


class FarPlaces:
    """Gives environments by name. `folder` is what all of them see."""

    def __init__(self) -> None:
        self.folder = Path(os.path.realpath(tempfile.mkdtemp(prefix="piolet-far-")))
        self.server: SshServer | None = None
        self._environments: dict[str, ShellEnvironment] = {}
        self._missing: dict[str, str] = {}

    def __enter__(self) -> FarPlaces:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for environment in self._environments.values():
            asyncio.run(environment.close())
        if self.server is not None:
            self.server.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    @contextlib.contextmanager
    def working_folder(self) -> Iterator[Path]:
        """Give an empty folder below `folder`."""
        with tempfile.TemporaryDirectory(dir=self.folder) as path:
            yield Path(path)

    def environment(self, name: str, cwd: Path) -> ShellEnvironment:
        """Return the environment of that name, with a working folder below `folder`. Raises `NotHere`."""
        if name in self._missing:
            raise NotHere(self._missing[name])
        if name not in self._environments:
            try:
                environment = self._make(name)
                asyncio.run(environment.connect())
            except (NotHere, Unreachable) as error:
                self._missing[name] = str(error)
                raise NotHere(str(error)) from None
            if name.endswith("-without-ripgrep"):
                environment._far = replace(environment.far, ripgrep="")
            self._environments[name] = environment
        self._environments[name].cwd = str(cwd)
        return self._environments[name]

    def _make(self, name: str) -> ShellEnvironment:
        match name.split("-")[0]:
            case "shell":
                return ShellEnvironment(("env",), cwd=str(self.folder))
            case "busybox":
                _require("busybox")
                return ShellEnvironment(("busybox",), cwd=str(self.folder))
            case "sh":
                shell = _require(name.removeprefix("sh-"))
                folder = self.folder / name
                folder.mkdir()
                (folder / "sh").symlink_to(shell)
                return ShellEnvironment(("env", f"PATH={folder}:{os.environ['PATH']}"), cwd=str(self.folder))
            case "sandbox":
                if reason := why_no_sandbox():
                    raise NotHere(reason)
                return SandboxEnvironment(str(self.folder))
            case "container":
                return ContainerEnvironment(image=_image(), cwd=str(self.folder))
            case _:
                return SshEnvironment("far", str(self.folder), ssh=self.ssh_server().ssh)

    def ssh_server(self) -> SshServer:
        """Return a running ssh server. Raises `NotHere`."""
        if self.server is None:
            if reason := why_no_server():
                raise NotHere(reason)
            folder = self.folder / "ssh"
            folder.mkdir()
            self.server = SshServer(folder)
            self.server.start()
        return self.server


def _require(program: str) -> str:
    path = shutil.which(program)
    if path is None:
        raise NotHere(f"{program} is not installed")
    return path


def _image() -> str:
    """Make an image of some programs of this machine; return its name."""
    engine = answering_engine()[0]
    with tempfile.TemporaryDirectory() as folder:
        archive = Path(folder) / "image.tar"
        with tarfile.open(archive, "w") as tar:
            names: set[str] = set()
            for program in _PROGRAMS:
                path = shutil.which(program)
                if path is None:
                    raise NotHere(f"an image needs {program}")
                _add(tar, names, f"bin/{program}", path)
                libraries = subprocess.run(["ldd", path], capture_output=True, text=True, check=False).stdout
                for word in libraries.split():
                    if word.startswith("/"):
                        _add(tar, names, word.lstrip("/"), word)
            for name in ("tmp", "etc", "proc", "sys", "dev"):
                entry = tarfile.TarInfo(name)
                entry.type, entry.mode = tarfile.DIRTYPE, 0o777
                tar.addfile(entry)
        made = subprocess.run([engine, "import", archive, IMAGE], capture_output=True, text=True, check=False)
    if made.returncode != 0:
        raise NotHere(f"{engine} makes no image: {made.stderr.strip()[-200:]}")
    return IMAGE


def _add(tar: tarfile.TarFile, names: set[str], name: str, path: str) -> None:
    if name not in names:
        names.add(name)
        tar.add(os.path.realpath(path), name)
