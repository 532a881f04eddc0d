"""Sessions in memory alone: what they hold is what a file with the same lines holds."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from piolet.harness.session.session import Session
from piolet.harness.session.storage import MemoryStorage
from tests.conformance import sessions
from tests.conformance.sessions.keeping import kept_in

DATA = Path(__file__).parents[2] / "data" / "conformance" / "sessions"


class Memory:
    """Sessions of vectors in memory."""

    without: frozenset[str] = frozenset()

    def put(self, data: bytes, folder: str, *, read_only: bool = False) -> Session:
        self._storage = MemoryStorage(data)
        return Session.over(self._storage, read_only=read_only)

    def create(self, cwd: str, folder: str, id: str | None = None) -> Session:
        return Session.in_memory(cwd, id)

    def fork(self, data: bytes, folder: str, target_cwd: str, id: str | None) -> Session:
        raise NotImplementedError

    def text(self, session: Session) -> bytes | None:
        return bytes(self._storage.text)

    def header(self, header: Mapping[str, Any], folder: str) -> Mapping[str, Any]:
        return header


@pytest.mark.parametrize("group", ["context", "tree"])
def test_the_vectors_of_files_hold(group: str) -> None:
    names = []
    with kept_in(Memory()):
        for path in sorted((DATA / group).glob("*.json")):
            for outcome in sessions.check(path):
                assert outcome.status != "failed", f"{outcome.name}: {outcome.why}"
                names.append(outcome.name)
    assert names
