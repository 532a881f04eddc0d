"""The program whose files and protocols piolet shares, for tests that let both work on the same things.

``PI_BIN`` names its command, ``PI_PKG`` the folder of its package. It always runs offline and in a home of the test.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.run import Finished, Place


@dataclass(frozen=True)
class Peer:
    command: Path
    package: Path | None

    @classmethod
    def find(cls) -> Peer | None:
        """Return the installed peer, or None."""
        command, package = os.environ.get("PI_BIN"), os.environ.get("PI_PKG")
        if not command or not os.access(command, os.X_OK):
            return None
        return cls(Path(command), Path(package) if package else None)

    def run(
        self,
        place: Place,
        *argv: str,
        stdin: str | bytes = b"",
        env: Mapping[str, str] | None = None,
        timeout: float = 60,
    ) -> Finished:
        """Run it to its end in `place`, as `Place.run` runs piolet."""
        return place.run(*argv, stdin=stdin, env=env, timeout=timeout, command=(str(self.command),))


def require_peer() -> Peer:
    """Return the peer, or skip the test."""
    peer = Peer.find()
    if peer is None:
        pytest.skip("the peer is not installed (PI_BIN)")
    return peer
