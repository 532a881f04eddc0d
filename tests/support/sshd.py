"""A real ssh server on loopback with its own port, keys, configuration and home; nothing of the user's."""

from __future__ import annotations

import contextlib
import getpass
import os
import shutil
import socket
import subprocess
import time
from pathlib import Path

from tests.support.servers import Server, free_port

PROGRAMS = ("/usr/sbin/sshd", "ssh", "ssh-keygen")


class SshServer:
    """A running server. `ssh` is the client that knows it, as the host ``far``."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process: Server | None = None
        self.port = free_port()
        self.config = folder / "client"
        self.ssh = ("ssh", "-F", str(self.config))
        (folder / "home").mkdir()
        # What login shells print, on purpose or not, must disturb nothing.
        (folder / "home" / ".bashrc").write_text("echo Welcome; echo 'stty: not a terminal' >&2\n")
        for name in ("host", "user"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True)
        host = (folder / "host.pub").read_text().split()[:2]
        (folder / "known").write_text(f"[127.0.0.1]:{self.port} {' '.join(host)}\n")
        _write(
            folder / "server",
            f"Port {self.port}",
            "ListenAddress 127.0.0.1",
            f"HostKey {folder}/host",
            f"AuthorizedKeysFile {folder}/user.pub",
            "PidFile none",
            "UsePAM no",
            "StrictModes no",
            "PasswordAuthentication no",
            "PermitRootLogin yes",
            f"SetEnv HOME={folder}/home",
        )
        _write(
            self.config,
            "Host far",
            "HostName 127.0.0.1",
            f"Port {self.port}",
            f"User {getpass.getuser()}",
            f"IdentityFile {folder}/user",
            "IdentitiesOnly yes",
            f"UserKnownHostsFile {folder}/known",
            "GlobalKnownHostsFile /dev/null",
            "StrictHostKeyChecking yes",
        )

    def start(self) -> None:
        if os.geteuid() == 0:
            os.makedirs("/run/sshd", exist_ok=True)
        argv = ["/usr/sbin/sshd", "-D", "-e", "-f", str(self._folder / "server")]
        self._process = Server(argv, self._folder / "log")
        deadline = time.monotonic() + 60
        while not self._answers():
            if self._process.has_ended or time.monotonic() > deadline:
                raise AssertionError(f"the ssh server does not run: {(self._folder / 'log').read_text()[-300:]}")
            time.sleep(0.02)

    def stop(self) -> None:
        """End the server and every connection to it."""
        if self._process is not None:
            self.break_connections()
            self._process.stop()

    def break_connections(self) -> None:
        """Kill the server's side of each connection."""
        assert self._process is not None
        for pid in _descendants(self._process.pid):
            with contextlib.suppress(OSError):  # gone with the one before
                if Path(f"/proc/{pid}/cmdline").read_bytes().startswith(b"sshd: ") and not _listens(pid):
                    os.kill(pid, 9)

    @property
    def connections(self) -> int:
        """How many connections were accepted so far."""
        return (self._folder / "log").read_text().count("Accepted publickey")

    def _answers(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0


def why_no_server() -> str | None:
    """Return why no server can be run here; None if one can."""
    missing = [program for program in PROGRAMS if shutil.which(program) is None]
    if missing:
        return f"not installed: {', '.join(missing)}"
    return None if Path("/proc/self/task").exists() else "connections are found in /proc"


def _descendants(pid: int) -> list[int]:
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in task.read_text().split():
            found += [int(child), *_descendants(int(child))]
    return found


def _listens(pid: int) -> bool:
    return b"[listener]" in Path(f"/proc/{pid}/cmdline").read_bytes()


def _write(path: Path, *lines: str) -> None:
    path.write_text("".join(f"{line}\n" for line in lines))
