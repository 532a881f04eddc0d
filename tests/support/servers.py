"""Servers that tests start: none outlives the test process, however that ends."""

from __future__ import annotations

import contextlib
import random
import socket
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

#: Runs a program until its own standard input ends, then sends it the signal that is its first argument.
_KEEPER = 's=$1; shift; exec 3<&0; "$@" </dev/null 3<&- & p=$!; (cat <&3 >/dev/null; kill -$s $p) & wait $p; kill $!'


class Server:
    """A running program; what it prints is added to the file `log`. `signal` is how it is asked to end."""

    def __init__(self, argv: Sequence[str | Path], log: Path, *, signal: str = "TERM", **options: Any) -> None:
        with log.open("ab") as output:
            self._keeper = subprocess.Popen(
                ["sh", "-c", _KEEPER, "sh", signal, *argv],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=output,
                start_new_session=True,
                **options,
            )

    @property
    def pid(self) -> int:
        """The process whose children are the server and a watcher."""
        return self._keeper.pid

    @property
    def has_ended(self) -> bool:
        return self._keeper.poll() is not None

    def stop(self) -> None:
        """Ask it to end, and wait until it has."""
        assert self._keeper.stdin is not None
        self._keeper.stdin.close()
        self._keeper.wait()


def free_port() -> int:
    """Return a port that no outgoing connection is given by itself, so that it stays free over a restart."""
    while True:
        port = random.randrange(20_000, 32_000)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
