"""Session lines in two tables of a SQL database, through SQLAlchemy: one row for each line, byte for byte.

A session has a row of its own, with the number of its lines. Who appends locks that row (SQLite: the database) for one
short transaction, and counts on from there.
"""

from __future__ import annotations

import errno
import os
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from typing import Any, Final

import sqlalchemy as sql
from sqlalchemy.exc import ArgumentError, IntegrityError, SQLAlchemyError

from piolet.base.ids import now_ms, uuid7
from piolet.harness.session.jsonl import LOCK_SECONDS
from piolet.harness.session.storage import BOM, Change, Line, Storage, Text

#: Rows that are fetched at once.
_ROWS: Final = 500

_metadata = sql.MetaData()
SESSIONS: Final = sql.Table(
    "piolet_sessions",
    _metadata,
    sql.Column("id", sql.String(255), primary_key=True),
    sql.Column("lines", sql.BigInteger, nullable=False),
    sql.Column("changed_ms", sql.BigInteger, nullable=False),
)
LINES: Final = sql.Table(
    "piolet_lines",
    _metadata,
    sql.Column("session", sql.String(255), primary_key=True),
    sql.Column("position", sql.BigInteger, primary_key=True, autoincrement=False),
    sql.Column("text", sql.LargeBinary(2**32 - 1), nullable=False),
)


class Database:
    """The tables in one database. Failures are OSError. `name` has no password; no two databases have one `place`."""

    def __init__(self, database: str | sql.Engine) -> None:
        self._owns_engine = isinstance(database, str)
        self.engine = _engine(database) if isinstance(database, str) else database
        self.name = self.place = self.engine.url.render_as_string(hide_password=True)
        self._dialect = self.engine.dialect.name
        self._closed = False
        self._file = ""  # of SQLite, empty in memory
        self._identity: tuple[int, int] | None = None
        self._turns = threading.RLock() if isinstance(self.engine.pool, sql.StaticPool) else None
        if self._dialect == "sqlite":
            sql.event.listen(self.engine, "connect", _prepare_sqlite)
        with _os_errors():
            self._make_tables()
            if self._dialect == "sqlite":
                self._find_file()

    @contextmanager
    def reading(self) -> Iterator[sql.Connection]:
        """Give a connection. One that is shared by all threads is theirs in turn."""
        self.check_open()
        if self._turns is not None and not self._turns.acquire(timeout=LOCK_SECONDS):
            raise TimeoutError(errno.ETIMEDOUT, "another thread keeps it locked")
        try:
            with _os_errors(), self.engine.connect() as connection:
                yield connection
        finally:
            if self._turns is not None:
                self._turns.release()

    @contextmanager
    def writing(self) -> Iterator[sql.Connection]:
        """Give a connection in a transaction that waits for locks 10 seconds at most; what is not committed is lost."""
        with self.reading() as connection:
            if self._dialect == "sqlite":
                connection.exec_driver_sql("BEGIN IMMEDIATE")
                self.check_open()
            elif self._dialect == "postgresql":
                connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{LOCK_SECONDS:.0f}s'")
            yield connection

    def close(self) -> None:
        """Close the connections, unless the engine is the caller's; nothing can be read or written any more."""
        self._closed = True
        if self._owns_engine:
            self.engine.dispose()

    def _make_tables(self) -> None:
        """Make what is missing; when another process makes a table at the same time, the next look finds it."""
        for _ in _metadata.sorted_tables:
            with suppress(SQLAlchemyError):
                _metadata.create_all(self.engine)
                return
        _metadata.create_all(self.engine)

    def _find_file(self) -> None:
        with self.engine.connect() as connection:
            self._file = connection.exec_driver_sql("PRAGMA database_list").all()[0][2] or ""
        if self._file:
            self.place = self._file
            self._identity = _identity(self._file)
        elif isinstance(self.engine.pool, sql.SingletonThreadPool):
            raise OSError(errno.EINVAL, "this engine gives each thread another one; make it with poolclass=StaticPool")
        else:
            self.place = uuid7()

    def check_open(self) -> None:
        """SQLite goes on with a file that was deleted, and all that is written goes with it: look before."""
        if self._closed:
            raise OSError(errno.EBADF, "the store of sessions was closed")
        if self._file and _identity(self._file) != self._identity:
            raise FileNotFoundError(errno.ENOENT, "the database file was deleted or replaced; open the store again")


class SqlSessionStorage:
    """The lines of one session. With `draft`, the text of a session that is not in the database; `begin` stores it."""

    path = None
    lasting = True

    def __init__(self, database: Database, id: str, draft: bytes | None = None) -> None:
        self.name = f"{id} in {database.name}"
        self.place = f"{database.place} {id}"
        self.torn = False
        self._database = database
        self._id = id
        self._draft = None if draft is None else _split(draft)
        self._next = 0  # the position of the first line that was not given
        self._held: sql.Connection | None = None  # the connection while the session is locked
        self._count = 0  # the number of lines, known while it is locked

    @property
    def saved(self) -> bool:
        return self._draft is None

    def lines(self, *, torn: bool = False) -> Iterator[Line]:
        self.torn = False
        for position, text in self._rows_from(self._next):
            if not text.endswith(b"\n") and not torn:
                self.torn = True
                return
            self._next = position + 1
            yield position, text.removesuffix(b"\n").removeprefix(BOM if position == 0 else b"")

    def rewind(self) -> None:
        self._next = 0

    def read(self, positions: Iterable[int]) -> Iterator[Text]:
        rest = iter(positions)
        while some := list(islice(rest, _ROWS)):
            if self._draft is not None:
                texts = dict(enumerate(self._draft))
            else:
                query = sql.select(LINES.c.position, LINES.c.text).where(
                    LINES.c.session == self._id, LINES.c.position.in_(some)
                )
                with self._connection() as connection:
                    texts = {position: bytes(text) for position, text in connection.execute(query)}
            for position in some:
                if position not in texts:
                    raise FileNotFoundError(errno.ENOENT, "the line is gone", self.name)
                yield texts[position].removesuffix(b"\n")

    @contextmanager
    def locked(self) -> Iterator[Change]:
        if self._draft is not None:
            self._database.check_open()
            yield "none"
            return
        query = sql.select(SESSIONS.c.lines).where(SESSIONS.c.id == self._id).with_for_update()
        with self._database.writing() as connection:
            count = connection.execute(query).scalar()
            self._held, self._count = connection, count or 0
            try:
                yield "none" if self._count >= self._next else "rewritten"
            finally:
                self._held = None

    def again(self) -> Storage:
        return SqlSessionStorage(self._database, self._id)

    def beside(self, id: str, file_name: str, text: bytes) -> Storage:
        return SqlSessionStorage(self._database, id, text)

    def write(self, data: bytes) -> None:
        """Store a line and commit: the lock is given back."""
        if self._draft is not None:
            self._draft.append(data + b"\n")
            return
        assert self._held is not None, "writing is for those who hold the lock"
        with _os_errors():
            if self.torn:
                is_last = (LINES.c.session == self._id) & (LINES.c.position == self._count - 1)
                text = self._held.execute(sql.select(LINES.c.text).where(is_last)).scalar_one()
                self._held.execute(LINES.update().where(is_last).values(text=bytes(text) + b"\n"))
            if data:
                row = {"session": self._id, "position": self._count, "text": data + b"\n"}
                self._held.execute(LINES.insert(), row)
                self._count += 1
            session = SESSIONS.update().where(SESSIONS.c.id == self._id)
            self._held.execute(session.values(lines=self._count, changed_ms=now_ms()))
            self._held.commit()

    def begin(self) -> None:
        if self._draft is None:
            return
        rows = [{"session": self._id, "position": position, "text": text} for position, text in enumerate(self._draft)]
        with self._database.writing() as connection:
            session = {"id": self._id, "lines": len(rows), "changed_ms": now_ms()}
            connection.execute(SESSIONS.insert(), session)
            if rows:
                connection.execute(LINES.insert(), rows)
            connection.commit()
        self._draft = None

    def content(self) -> bytes:
        """Return all lines as a file holds them, to the last byte."""
        return b"".join(text for _, text in self._rows_from(0))

    def sync(self) -> None:
        """What is committed is on the disk, as far as the database says so."""

    def close(self) -> None:
        """No connection is kept."""

    @contextmanager
    def _connection(self) -> Iterator[sql.Connection]:
        if self._held is not None:
            with _os_errors():
                yield self._held
        else:
            with self._database.reading() as connection:
                yield connection

    def _rows_from(self, position: int) -> Iterator[tuple[int, bytes]]:
        if self._draft is not None:
            yield from list(enumerate(self._draft))[position:]
            return
        query = sql.select(LINES.c.position, LINES.c.text).where(LINES.c.session == self._id)
        query = query.order_by(LINES.c.position).limit(_ROWS)
        while True:
            with self._connection() as connection:
                rows = connection.execute(query.where(LINES.c.position >= position)).all()
            for place, text in rows:
                yield place, bytes(text)
            if len(rows) < _ROWS:
                return
            position = rows[-1].position + 1


@contextmanager
def _os_errors() -> Iterator[None]:
    """Turn what the database says into an OSError; of SQL and values nothing is told."""
    try:
        yield
    except IntegrityError as error:
        raise FileExistsError(errno.EEXIST, "it exists already") from error
    except SQLAlchemyError as error:
        text = str(getattr(error, "orig", None) or error).strip()
        raise OSError(errno.EIO, text.partition("\n")[0]) from error


def _engine(url_text: str) -> sql.Engine:
    options: dict[str, Any] = {}
    try:
        url = sql.make_url(url_text)
        if url.get_backend_name() == "sqlite":
            options["connect_args"] = {"timeout": LOCK_SECONDS}
            if url.database in (None, "", ":memory:"):
                options["poolclass"] = sql.StaticPool  # one for all threads: each connection has a database of its own
                options["connect_args"]["check_same_thread"] = False
            else:
                _make_private(url.database)
        return sql.create_engine(url, pool_pre_ping=True, **options)
    except ArgumentError as error:
        reason = (
            "SQLAlchemy knows no such database; a URL is like sqlite:////folder/file or postgresql+psycopg://host/name"
        )
        raise OSError(errno.EINVAL, reason) from error
    except ImportError as error:
        raise OSError(errno.ENOENT, f"its driver is missing: pip install {error.name}") from error


def _identity(path: str) -> tuple[int, int] | None:
    """Return device and inode of a file, None if there is none."""
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino


def _prepare_sqlite(connection: Any, record: object) -> None:
    """Leave transactions to us, and let readers go on while one writes."""
    connection.isolation_level = None
    cursor = connection.cursor()
    deadline = time.monotonic() + LOCK_SECONDS
    while True:
        try:
            cursor.execute("PRAGMA journal_mode=WAL")
            break
        except sqlite3.OperationalError as error:  # SQLite does not wait here for others that begin as well
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
    cursor.close()


def _make_private(path: str) -> None:
    """Make the file of a SQLite database, for its owner alone: its companions get the same mode."""
    if not path.startswith("file:"):
        os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))


def _split(text: bytes) -> list[bytes]:
    """Return the lines of `text`, each with its line feed; the last one may have none."""
    lines = [line + b"\n" for line in text.split(b"\n")]
    last = lines.pop().removesuffix(b"\n")
    return [*lines, last] if last else lines
