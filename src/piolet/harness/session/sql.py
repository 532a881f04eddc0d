"""Sessions in a SQL database (the extra ``sql``), shared by workers in any number of processes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

try:
    import sqlalchemy as sql
except ImportError as error:
    raise ImportError("Sessions in a database need SQLAlchemy: pip install 'piolet[sql]'") from error

from piolet.base.files import write_private
from piolet.base.json import loads
from piolet.harness.session.copying import object_lines
from piolet.harness.session.entries import VERSION
from piolet.harness.session.errors import NotASession, SessionError, UnknownSession, WriteFailed
from piolet.harness.session.index import Index
from piolet.harness.session.jsonl import JsonlStorage
from piolet.harness.session.migration import migrated_text
from piolet.harness.session.reading import read_header
from piolet.harness.session.session import Session, draft_text, new_header
from piolet.harness.session.sql_storage import LINES, SESSIONS, Database, SqlSessionStorage

if TYPE_CHECKING:
    from sqlalchemy import Engine


class SqlSession(Struct, frozen=True):
    """A session in a list: its id, working directory, and when it was last written to (Unix milliseconds)."""

    id: str
    cwd: str
    changed_ms: int


class SqlSessions:
    """The sessions of one database; its two tables are made if they are missing.

    `database`: a URL as SQLAlchemy takes it (``sqlite:////folder/file``, ``postgresql+psycopg://host/name``), or an
    engine, which stays the caller's. Calls wait for the database; an append waits at most 10 seconds for others that
    append to the same session (SQLite: to any). A line that an append has stored is as safe as the database makes what
    is committed. Raises `SessionError` where the database refuses.
    """

    def __init__(self, database: str | Engine) -> None:
        with _session_errors("The database cannot be used"):
            self._database = Database(database)

    def create(self, cwd: str, id: str | None = None, parent_session: str | None = None) -> Session:
        """Return a new session. It is in the database when the model first answers. Raises `InvalidSessionId`."""
        header = new_header(cwd, id, parent_session)
        return Session.over(SqlSessionStorage(self._database, header.id, draft_text(header)))

    def open(self, id: str, cwd_override: str | None = None, *, read_only: bool = False) -> Session:
        """Return the session with this id; it runs in `cwd_override` if that is given. Raises `UnknownSession`."""
        self._require(id)
        return Session.over(SqlSessionStorage(self._database, id), cwd_override, read_only=read_only)

    def list(self) -> list[SqlSession]:
        """Return all sessions, the one that was written to last first."""
        query = (
            sql.select(SESSIONS.c.id, SESSIONS.c.changed_ms, LINES.c.text)
            .join(LINES, (LINES.c.session == SESSIONS.c.id) & (LINES.c.position == 0))
            .order_by(SESSIONS.c.changed_ms.desc(), SESSIONS.c.id.desc())
        )
        with _session_errors("The sessions cannot be listed"), self._database.reading() as connection:
            return [SqlSession(id, _cwd_of(text), changed) for id, changed, text in connection.execute(query)]

    def delete(self, id: str) -> None:
        """Remove a session with all its lines. Raises `UnknownSession`."""
        with _session_errors(f"Session {id} cannot be deleted"), self._database.writing() as connection:
            count = connection.execute(SESSIONS.delete().where(SESSIONS.c.id == id)).rowcount
            connection.execute(LINES.delete().where(LINES.c.session == id))
            connection.commit()
        if not count:
            raise self._unknown(id)

    def import_jsonl(self, path: str) -> Session:
        """Copy a session file into the database, under the id in its header, and open it.

        `export_jsonl` gives the same bytes again; a file of an old version is migrated. Raises `NotASession`, and
        `WriteFailed` if a session with that id is there already.
        """
        path = os.path.abspath(path)
        index, file = Index(), JsonlStorage(path, read_only=True)
        with _session_errors(f"{path} cannot be read"):
            try:
                if not index.add_all(file.lines(torn=True)) or index.header is None:
                    raise NotASession(f"{path} is not a session file: it does not begin with a session header")
            finally:
                file.close()
            is_old = index.header.version < VERSION
            text = migrated_text(path) if is_old else Path(path).read_bytes()
        storage = SqlSessionStorage(self._database, index.header.id, text)
        try:
            storage.begin()
        except OSError as error:
            raise WriteFailed(f"{path} cannot be copied to {storage.name}: {error.strerror}") from error
        return Session.over(SqlSessionStorage(self._database, index.header.id))

    def export_jsonl(self, id: str, path: str) -> str:
        """Write all lines of a session to a file, which is replaced; return its absolute path. Raises `UnknownSession`.

        One branch alone is what `copying.export_jsonl` writes.
        """
        self._require(id)
        path = os.path.abspath(path)
        with _session_errors(f"{path} cannot be written"):
            write_private(Path(path), SqlSessionStorage(self._database, id).text())
        return path

    def fork_from(self, source: str, target_cwd: str, id: str | None = None) -> Session:
        """Copy all entries of the session `source` into a new one for `target_cwd`; return it, opened.

        Malformed lines are left out. Raises `UnknownSession`, `InvalidSessionId`.
        """
        self._require(source)
        header = new_header(target_cwd, id, source)
        with _session_errors(f"Session {source} cannot be copied"):
            _, lines = object_lines(SqlSessionStorage(self._database, source))
            copy = SqlSessionStorage(self._database, header.id, draft_text(header, lines))
            copy.begin()
        return Session.over(SqlSessionStorage(self._database, header.id))

    def close(self) -> None:
        """Close the connections. Sessions that are open cannot be used any more."""
        self._database.close()

    def _require(self, id: str) -> None:
        query = sql.select(SESSIONS.c.id).where(SESSIONS.c.id == id)
        with _session_errors(f"Session {id} cannot be opened"), self._database.reading() as connection:
            if connection.execute(query).first() is not None:
                return
        raise self._unknown(id)

    def _unknown(self, id: str) -> UnknownSession:
        return UnknownSession(f"There is no session {id} in {self._database.name}")


@contextmanager
def _session_errors(what: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise SessionError(f"{what}: {error.strerror or error}") from error


def _cwd_of(line: bytes) -> str:
    try:
        header = read_header(loads(bytes(line).removeprefix(b"\xef\xbb\xbf")))
    except ValueError:
        header = None
    return header.cwd or "" if header is not None else ""
