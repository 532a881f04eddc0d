"""Sessions that are kept by id and not as files: what every such place can do, whatever it is made of."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from piolet.base.files import write_private
from piolet.base.json import loads
from piolet.harness.session.copying import forked_lines, object_lines
from piolet.harness.session.entries import VERSION, Header
from piolet.harness.session.errors import InvalidSessionId, NotASession, SessionError, UnknownSession, WriteFailed
from piolet.harness.session.index import Index
from piolet.harness.session.jsonl import JsonlStorage
from piolet.harness.session.migration import migrated_text
from piolet.harness.session.reading import read_header
from piolet.harness.session.session import Session, draft_text, new_header
from piolet.harness.session.storage import BOM, Storage


class StoredSession(Struct, frozen=True):
    """A session in a list: its id, working directory, and when it was last written to (Unix milliseconds)."""

    id: str
    cwd: str
    changed_ms: int


class KeptStorage(Storage, Protocol):
    """The lines of one session of a store. `begin` raises FileExistsError if there is another session of that id."""

    def content(self) -> bytes:
        """Return all lines as a file holds them, to the last byte."""


class SessionStore(ABC):
    """The sessions of one place, by id. Everything raises `SessionError` where the place refuses."""

    name: str

    # A subclass gives these five. OSErrors of the last three become SessionErrors.

    @abstractmethod
    def list(self) -> list[StoredSession]:
        """Return all sessions, the one that was written to last first."""

    @abstractmethod
    def close(self) -> None:
        """Give back what is held. The store and its sessions refuse to be read and written from then on."""

    @abstractmethod
    def _storage(self, id: str, draft: bytes | None = None) -> KeptStorage:
        """Return the lines of a session; with `draft`, the text of a new one, which `begin` stores."""

    @abstractmethod
    def _has(self, id: str) -> bool: ...

    @abstractmethod
    def _remove(self, id: str) -> bool:
        """Remove a session with all its lines; return whether there was one."""

    def create(self, cwd: str, id: str | None = None, parent_session: str | None = None) -> Session:
        """Return a new session. It is in the store when the model first answers.

        Raises `InvalidSessionId`, and `WriteFailed` if a session with that id is there already.
        """
        header = new_header(cwd, id, parent_session)
        if id is not None and self._holds(id):
            raise WriteFailed(f"Session {id} in {self.name} exists already: open it, or call open_or_create")
        return Session.over(self._storage(header.id, draft_text(header)))

    def open(self, id: str, cwd_override: str | None = None, *, read_only: bool = False) -> Session:
        """Return the session with this id; it runs in `cwd_override` if that is given. Raises `UnknownSession`."""
        self._require(id)
        return Session.over(self._storage(id), cwd_override, read_only=read_only)

    def open_or_create(self, id: str, cwd: str) -> Session:
        """Return the session with this id; if there is none, a new one for `cwd` that is in the store at once.

        Whoever calls it at the same time gets the same session. Raises `InvalidSessionId`, `WriteFailed`.
        """
        header = new_header(cwd, id)
        if not self._holds(id):
            storage = self._storage(id, draft_text(header))
            try:
                storage.begin()
            except FileExistsError:
                pass  # another was faster
            except OSError as error:
                raise WriteFailed(f"Session {storage.name} cannot be stored: {error.strerror}") from error
        return self.open(id)

    def delete(self, id: str) -> None:
        """Remove a session with all its lines. Raises `UnknownSession`."""
        _check_id(id)
        with session_errors(f"Session {id} cannot be deleted"):
            removed = self._remove(id)
        if not removed:
            raise self._unknown(id)

    def import_jsonl(self, path: str) -> Session:
        """Copy a session file into the store, under the id in its header, and open it.

        `export_jsonl` gives the same bytes again; a file of an old version is migrated. Raises `NotASession`, and
        `WriteFailed` if a session with that id is there already.
        """
        path = os.path.abspath(path)
        index, file = Index(), JsonlStorage(path, read_only=True)
        with session_errors(f"{path} cannot be read"):
            try:
                if not index.add_all(file.lines(torn=True)) or index.header is None:
                    raise NotASession(f"{path} is not a session file: it does not begin with a session header")
            finally:
                file.close()
            is_old = index.header.version < VERSION
            text = migrated_text(path) if is_old else Path(path).read_bytes()
        _check_id(index.header.id)
        storage = self._storage(index.header.id, text)
        try:
            storage.begin()
        except OSError as error:
            raise WriteFailed(f"{path} cannot be copied to {storage.name}: {error.strerror}") from error
        return Session.over(self._storage(index.header.id))

    def export_jsonl(self, id: str, path: str) -> str:
        """Write all lines of a session to a file, which is replaced; return its absolute path. Raises `UnknownSession`.

        One branch alone is what `piolet.harness.session.copying.export_jsonl` writes.
        """
        self._require(id)
        path = os.path.abspath(path)
        with session_errors(f"{path} cannot be written"):
            write_private(Path(path), self._storage(id).content())
        return path

    def fork_from(self, source: str, target_cwd: str, id: str | None = None) -> Session:
        """Copy all entries of the session `source` into a new one for `target_cwd`; return it, opened.

        Malformed lines are left out. Raises `UnknownSession`, `InvalidSessionId`.
        """
        self._require(source)
        header = new_header(target_cwd, id, source)
        with session_errors(f"Session {source} cannot be copied"):
            _, lines = object_lines(self._storage(source))
        return self._keep(header, lines)

    def fork_jsonl(self, path: str, target_cwd: str, id: str | None = None, *, migrate: bool = True) -> Session:
        """Do the same with a session file as `source`. Without `migrate`, entries of an old file stay as they are.

        Raises `NotASession`, `InvalidSessionId`.
        """
        header = new_header(target_cwd, id, os.path.abspath(path))
        return self._keep(header, forked_lines(path, migrate=migrate))

    def _keep(self, header: Header, lines: Sequence[bytes]) -> Session:
        storage = self._storage(header.id, draft_text(header, lines))
        try:
            storage.begin()
        except OSError as error:
            raise WriteFailed(f"The copy {storage.name} cannot be stored: {error.strerror}") from error
        return Session.over(self._storage(header.id))

    def _require(self, id: str) -> None:
        if not self._holds(id):
            raise self._unknown(id)

    def _holds(self, id: str) -> bool:
        _check_id(id)
        with session_errors(f"Session {id} cannot be opened"):
            return self._has(id)

    def _unknown(self, id: str) -> UnknownSession:
        return UnknownSession(f"There is no session {id} in {self.name}")


def _check_id(id: str) -> None:
    try:
        id.encode()
    except UnicodeEncodeError as error:
        raise InvalidSessionId(f"{id!r} cannot be a session id: it is half of a character") from error


def cwd_in(line: bytes) -> str:
    """Return the working directory that the first line of a session names, empty if it names none."""
    try:
        header = read_header(loads(line.removeprefix(BOM)))
    except ValueError:
        header = None
    return header.cwd or "" if header is not None else ""


@contextmanager
def session_errors(what: str) -> Iterator[None]:
    """Turn an OSError into a `SessionError` that begins with `what`."""
    try:
        yield
    except OSError as error:
        raise SessionError(f"{what}: {error.strerror or error}") from error
