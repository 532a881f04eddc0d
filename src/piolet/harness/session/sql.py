"""Sessions in a SQL database (the extra ``sql``), shared by workers in any number of processes."""

from __future__ import annotations

from typing import TYPE_CHECKING

try:
    import sqlalchemy as sql
except ImportError as error:
    raise ImportError("Sessions in a database need SQLAlchemy: pip install 'piolet[sql]'") from error

from piolet.harness.session.sql_storage import LINES, SESSIONS, Database, SqlSessionStorage
from piolet.harness.session.stores import SessionStore, StoredSession, cwd_in, session_errors

if TYPE_CHECKING:
    from sqlalchemy import Engine


class SqlSessions(SessionStore):
    """A `SessionStore` in one database; its two tables are made if they are missing.

    `database`: a URL as SQLAlchemy takes it (``sqlite:////folder/file``, ``postgresql+psycopg://host/name``), or an
    engine, which stays the caller's. Calls wait for the database; an append waits at most 10 seconds for others that
    append to the same session (SQLite: to any). Threads may share it, each with `Session` objects of its own; a SQLite
    database in memory is one for all of them. A SQLite file that was deleted or replaced is not used any more. A line
    that an append has stored is as safe as the database makes what is committed. Raises `SessionError` where the
    database refuses.
    """

    def __init__(self, database: str | Engine) -> None:
        with session_errors("The database cannot be used"):
            self._database = Database(database)
        self.name = self._database.name

    def list(self) -> list[StoredSession]:
        query = (
            sql.select(SESSIONS.c.id, SESSIONS.c.changed_ms, LINES.c.text)
            .join(LINES, (LINES.c.session == SESSIONS.c.id) & (LINES.c.position == 0))
            .order_by(SESSIONS.c.changed_ms.desc(), SESSIONS.c.id.desc())
        )
        with session_errors("The sessions cannot be listed"), self._database.reading() as connection:
            return [StoredSession(id, cwd_in(bytes(text)), changed) for id, changed, text in connection.execute(query)]

    def close(self) -> None:
        """Close the connections, unless the engine is the caller's; its sessions refuse everything then."""
        self._database.close()

    def _storage(self, id: str, draft: bytes | None = None) -> SqlSessionStorage:
        return SqlSessionStorage(self._database, id, draft)

    def _has(self, id: str) -> bool:
        query = sql.select(SESSIONS.c.id).where(SESSIONS.c.id == id)
        with self._database.reading() as connection:
            return connection.execute(query).first() is not None

    def _remove(self, id: str) -> bool:
        with self._database.writing() as connection:
            count = connection.execute(SESSIONS.delete().where(SESSIONS.c.id == id)).rowcount
            connection.execute(LINES.delete().where(LINES.c.session == id))
            connection.commit()
        return count > 0
