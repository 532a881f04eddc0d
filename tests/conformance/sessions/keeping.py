"""Where the sessions of vectors are kept: in files, or wherever a test says for the time of a block."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Protocol

from piolet.harness.session.copying import fork_from
from piolet.harness.session.session import Session


class Keeping(Protocol):
    """A place for sessions. `folder`: one of the test's own, new for each vector."""

    #: Names of expectations that make no sense here.
    without: frozenset[str]

    def put(self, data: bytes, folder: str, *, read_only: bool = False) -> Session:
        """Return the session that a file with this content holds, opened."""

    def create(self, cwd: str, folder: str, id: str | None = None) -> Session: ...

    def fork(self, data: bytes, folder: str, target_cwd: str, id: str | None) -> Session:
        """Return the copy for another working directory of the session in a file with this content."""

    def text(self, session: Session) -> bytes | None:
        """Return what is stored of a session, None if nothing is."""

    def header(self, header: Mapping[str, Any], folder: str) -> Mapping[str, Any]:
        """Return a header as a session in a file has it."""


class Files:
    without: frozenset[str] = frozenset()

    def put(self, data: bytes, folder: str, *, read_only: bool = False) -> Session:
        path = Path(folder) / "s.jsonl"
        path.write_bytes(data)
        return Session.open(str(path), read_only=read_only)

    def create(self, cwd: str, folder: str, id: str | None = None) -> Session:
        return Session.create(cwd, folder, id)

    def fork(self, data: bytes, folder: str, target_cwd: str, id: str | None) -> Session:
        source = Path(folder) / "src.jsonl"
        source.write_bytes(data)
        # The vectors show what pi copies from old files; by default they are migrated (section 9: "better").
        return fork_from(str(source), target_cwd, os.path.join(folder, "out"), id, migrate=False)

    def text(self, session: Session) -> bytes | None:
        if session.path is None or not os.path.exists(session.path):
            return None
        return Path(session.path).read_bytes()

    def header(self, header: Mapping[str, Any], folder: str) -> Mapping[str, Any]:
        return header


_FILES = Files()
_keeping: ContextVar[Keeping | None] = ContextVar("keeping", default=None)


def keeping() -> Keeping:
    """Return where sessions are kept at present."""
    return _keeping.get() or _FILES


@contextmanager
def kept_in(place: Keeping) -> Iterator[None]:
    """Keep sessions there inside the block."""
    token = _keeping.set(place)
    try:
        yield
    finally:
        _keeping.reset(token)
