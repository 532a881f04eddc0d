"""A real PostgreSQL server for one test process: its own folder and socket, no port; nothing of an installed one."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
import time
from glob import glob
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tests.support.servers import Server


class PostgresServer:
    """A running server. `url` is for SQLAlchemy. As root it runs for the user ``nobody``, as it wants to."""

    def __init__(self, programs: Path) -> None:
        self._programs = programs
        self._folder = Path(tempfile.mkdtemp(prefix="piolet-pg-", dir="/tmp"))  # where another user may go
        self._options: dict[str, Any] = {
            "cwd": self._folder,
            "env": {"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"},
        }
        if os.geteuid() == 0:
            account = pwd.getpwnam("nobody")
            os.chown(self._folder, account.pw_uid, account.pw_gid)
            self._options |= {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
        self._data = self._folder / "data"
        initdb = [programs / "initdb", "-D", self._data, "-U", "piolet", "-A", "trust", "-E", "UTF8", "--no-sync"]
        subprocess.run(initdb, check=True, capture_output=True, **self._options)
        self.url = f"postgresql+psycopg://piolet@/postgres?host={quote(str(self._folder), safe='')}"
        self._start()

    def stop(self) -> None:
        self._server.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    def restart(self) -> None:
        """End the server at once, as a crash would, and start it again."""
        self._server.stop()
        self._start()

    def _start(self) -> None:
        argv = [self._programs / "postgres", "-D", self._data, "-k", self._folder, "-c", "listen_addresses="]
        log = self._folder / "log"
        self._server = Server([*argv, "-c", "max_connections=300"], log, signal="QUIT", **self._options)
        ready = [self._programs / "pg_isready", "-q", "-h", self._folder]
        deadline = time.monotonic() + 60
        while subprocess.run(ready, check=False, **self._options).returncode != 0:
            assert not self._server.has_ended, log.read_text()[-500:]
            assert time.monotonic() < deadline, log.read_text()[-500:]
            time.sleep(0.05)


def postgres_programs() -> Path | None:
    """Return the folder with the server's programs, the newest if there are several."""
    found = shutil.which("initdb")
    folders = sorted(glob("/usr/lib/postgresql/*/bin/initdb"), key=lambda path: float(path.split("/")[4]))
    path = found or (folders[-1] if folders else None)
    return Path(os.path.realpath(path)).parent if path else None
