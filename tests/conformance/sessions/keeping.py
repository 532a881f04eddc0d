"""Where the sessions of vectors are kept: in files, in memory or in a database."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Protocol

from piolet.harness.session.copying import fork_from
from piolet.harness.session.memory import MemorySessions
from piolet.harness.session.session import Session
from piolet.harness.session.stores import SessionStore


class Keeping(Protocol):
    """A place for sessions. `folder`: one of the test's own, new for each vector."""

    #: Why expectations about the names of session files cannot be checked here; None where they can.
    nameless: str | None

    def put(self, data: bytes, folder: str, *, read_only: bool = False) -> Session:
        """Return the session that a file with this content holds, opened."""

    def create(self, cwd: str, folder: str) -> Session: ...

    def fork(self, data: bytes, folder: str, target_cwd: str, id: str | None) -> Session:
        """Return the copy for another working directory of the session in a file with this content.

        The vectors show what pi copies from old files; by default they are migrated (section 9: "better").
        """

    def content(self, session: Session) -> bytes | None:
        """Return what is stored of a session, as a file holds it; None if nothing is."""

    def header(self, header: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a header with the file that a parent session was imported from."""


class Files:
    nameless = None

    def put(self, data: bytes, folder: str, *, read_only: bool = False) -> Session:
        path = Path(folder) / "s.jsonl"
        path.write_bytes(data)
        return Session.open(str(path), read_only=read_only)

    def create(self, cwd: str, folder: str) -> Session:
        return Session.create(cwd, folder)

    def fork(self, data: bytes, folder: str, target_cwd: str, id: str | None) -> Session:
        source = Path(folder) / "src.jsonl"
        source.write_bytes(data)
        return fork_from(str(source), target_cwd, os.path.join(folder, "out"), id, migrate=False)

    def content(self, session: Session) -> bytes | None:
        if session.path is None or not os.path.exists(session.path):
            return None
        return Path(session.path).read_bytes()

    def header(self, header: Mapping[str, Any]) -> Mapping[str, Any]:
        return header


class Stored:
    """Files are imported into a store, and what is stored is exported again."""

    def __init__(self, store: SessionStore) -> None:
        self._store = store
        self._sources: dict[str, str] = {}
        self.nameless = f"sessions in {store.name} have no file name"

    def put(self, data: bytes, folder: str, *, read_only: bool = False) -> Session:
        for id in self._sources.keys() & {stored.id for stored in self._store.list()}:
            self._store.delete(id)
        path = Path(folder) / "s.jsonl"
        path.write_bytes(data)
        imported = self._store.import_jsonl(str(path))
        self._sources[imported.id] = str(path)
        path.unlink()
        return self._store.open(imported.id, read_only=read_only)

    def create(self, cwd: str, folder: str) -> Session:
        return self._store.create(cwd)

    def fork(self, data: bytes, folder: str, target_cwd: str, id: str | None) -> Session:
        source = Path(folder) / "src.jsonl"
        source.write_bytes(data)
        return self._store.fork_jsonl(str(source), target_cwd, id, migrate=False)

    def content(self, session: Session) -> bytes | None:
        if not session.saved:
            return None
        with tempfile.TemporaryDirectory() as folder:
            return Path(self._store.export_jsonl(session.id, f"{folder}/exported.jsonl")).read_bytes()

    def header(self, header: Mapping[str, Any]) -> Mapping[str, Any]:
        origin = header.get("parentSession")
        return {**header, "parentSession": self._sources[origin]} if origin in self._sources else header


NAMES = ("jsonl", "memory", "sql")
_FILES = Files()
_keeping: ContextVar[Keeping] = ContextVar("keeping", default=_FILES)


def keeping() -> Keeping:
    """Return where sessions are kept at present."""
    return _keeping.get()


@contextmanager
def kept_in(place: Keeping) -> Iterator[None]:
    """Keep sessions there inside the block."""
    token = _keeping.set(place)
    try:
        yield
    finally:
        _keeping.reset(token)


@contextmanager
def kept_by_name(name: str) -> Iterator[None]:
    """Keep sessions inside the block in one of `NAMES`."""
    with tempfile.TemporaryDirectory() as folder:
        if name == "memory":
            store: SessionStore = MemorySessions()
        elif name == "sql":
            from piolet.harness.session.sql import SqlSessions

            store = SqlSessions(f"sqlite:///{folder}/sessions.db")
        else:
            yield
            return
        with kept_in(Stored(store)):
            yield
        store.close()
