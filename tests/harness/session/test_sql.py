"""Sessions in SQL databases, for workers that share them: locks, crashes, kills, and what is in the tables."""

from __future__ import annotations

import contextlib
import json
import os
import random
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

pytest.importorskip("sqlalchemy")

from piolet.harness.session.errors import SessionError, WriteFailed
from piolet.harness.session.sql import SqlSessions
from tests.harness.session.making import begun, shown, user
from tests.support.postgres import PostgresServer


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest) -> str:
    url: str = request.getfixturevalue(f"{request.param}_url")
    return url


@pytest.fixture
def store(url: str) -> Iterator[SqlSessions]:
    store = SqlSessions(url)
    yield store
    for session in store.list():
        store.delete(session.id)
    store.close()


def test_two_workers_on_one_session_take_turns(store: SqlSessions, url: str) -> None:
    """Neither loses anything, each sees what the other has written, and each goes on with a branch of its own."""
    id = begun(store).id
    written: dict[int, list[str]] = {0: [], 1: []}

    def work(number: int) -> None:
        own = SqlSessions(url)
        session = own.open(id)
        for turn in range(40):
            written[number].append(session.append_message(user(f"{number} {turn}")))
        own.close()

    threads = [threading.Thread(target=work, args=(number,)) for number in written]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    session = store.open(id)
    heads = {head.id: head for head in session.heads}
    assert len(session.heads) == 82
    assert not session.problems
    for ids in written.values():
        assert [heads[id].parent_id for id in ids[1:]] == ids[:-1]


def test_a_lock_that_is_not_given_back_is_an_error_in_time(
    store: SqlSessions, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("piolet.harness.session.sql_storage.LOCK_SECONDS", 1.0)
    session = begun(store)
    other = SqlSessions(url)
    blocked = other.open(session.id)
    before = len(blocked.heads)
    with session._log.storage.locked():
        started = time.monotonic()
        with pytest.raises(WriteFailed, match=r"cannot be written: .*lock"):
            blocked.append_message(user("no"))
        assert time.monotonic() - started < 5
    assert len(blocked.heads) == before
    blocked.append_message(user("yes"))
    assert shown(store.open(session.id))[-1] == "yes"
    other.close()


def test_an_append_that_fails_leaves_everything_as_it_was(store: SqlSessions, url: str) -> None:
    session = begun(store)
    heads = list(session.heads)
    store._database.engine.dispose()
    with store._database.engine.begin() as connection:
        connection.exec_driver_sql("ALTER TABLE piolet_lines RENAME TO gone")
    with pytest.raises(WriteFailed, match="cannot be written"):
        session.append_message(user("no"))
    with store._database.engine.begin() as connection:
        connection.exec_driver_sql("ALTER TABLE gone RENAME TO piolet_lines")
    assert list(session.heads) == heads
    session.append_message(user("yes"))
    assert shown(store.open(session.id)) == ["hi", "yes", "yes"]


def test_a_server_that_crashed_is_used_again(postgres: PostgresServer) -> None:
    store = SqlSessions(postgres.url)
    session = begun(store)
    postgres.restart()
    session.append_message(user("after"))
    assert shown(store.open(session.id)) == ["hi", "yes", "after"]
    store.delete(session.id)
    store.close()


def test_passwords_are_in_no_message(tmp_path: Path) -> None:
    pytest.importorskip("psycopg")
    with pytest.raises(SessionError, match="database cannot be used") as caught:
        SqlSessions(f"postgresql+psycopg://me:treasure@/x?host={tmp_path}")
    assert "treasure" not in str(caught.value)


def test_a_sqlite_file_is_private(tmp_path: Path) -> None:
    store = SqlSessions(f"sqlite:///{tmp_path / 'sessions.db'}")
    begun(store)
    assert {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()} == {0o600}
    store.close()


def test_a_database_in_memory_is_one_for_all_threads() -> None:
    store = SqlSessions("sqlite://")
    id = begun(store).id

    def work() -> None:
        session = store.open(id)
        for _ in range(5):
            session.append_message(user())
        begun(store)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(store.open(id).heads) == 42
    assert len(store.list()) == 9
    store.close()


COMER = """
import sys
from piolet.harness.session.sql import SqlSessions

print("here", flush=True)
sys.stdin.readline()
SqlSessions(sys.argv[1]).open_or_create("ada", "/w").append_custom("mark")
"""


def test_processes_that_come_first_at_once_share_a_session(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'sessions.db'}"
    argv = [sys.executable, "-c", COMER, url]
    comers = [subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    for comer in comers:
        assert comer.stdout is not None
        assert comer.stdout.readline() == "here\n"
    for comer in comers:
        assert comer.stdin is not None
        comer.stdin.write("\n")
        comer.stdin.flush()
    for comer in comers:
        comer.communicate()
        assert comer.returncode == 0
    store = SqlSessions(url)
    assert len(store.open("ada").heads) == 4
    store.close()


def test_an_engine_with_a_database_for_each_thread_is_refused() -> None:
    from sqlalchemy import create_engine

    engine = create_engine("sqlite://")
    with pytest.raises(SessionError, match="poolclass=StaticPool"):
        SqlSessions(engine)
    engine.dispose()


@pytest.mark.parametrize("replaced", [False, True])
def test_what_is_written_to_a_file_that_was_taken_away_is_refused(replaced: bool, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'sessions.db'}"
    store = SqlSessions(url)
    session = begun(store)
    for path in list(tmp_path.iterdir()):
        path.rename(path.with_name(f"old-{path.name}"))
    if replaced:
        SqlSessions(url).close()
    with pytest.raises(WriteFailed, match="deleted or replaced"):
        session.append_message(user("lost"))
    with pytest.raises(SessionError, match="deleted or replaced"):
        store.list()
    with pytest.raises(SessionError, match="deleted or replaced"):
        store.open(session.id)
    store.close()


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("nonsense", "SQLAlchemy knows no such database"),
        ("nosuch://host/name", "SQLAlchemy knows no such database"),
        ("postgresql+pg8000://host/name", "pip install pg8000"),
        ("sqlite:////nowhere/at/all.db", "No such file"),
    ],
)
def test_a_database_that_cannot_be_used_is_told(url: str, said: str) -> None:
    with pytest.raises(SessionError, match=f"The database cannot be used: .*{said}"):
        SqlSessions(url)


def test_a_database_in_memory_of_the_caller_serves_too() -> None:
    from sqlalchemy import StaticPool, create_engine

    engine = create_engine("sqlite://", poolclass=StaticPool)
    store = SqlSessions(engine)
    session = begun(store)
    assert shown(store.open(session.id)) == ["hi", "yes"]
    store.close()
    assert len(SqlSessions(engine).list()) == 1
    engine.dispose()


# -------------------------------------------------------------------------------------------------------------- kills

WORKER = """
import random, sys
from piolet.harness.session.sql import SqlSessions
from piolet.llm.messages import UserMessage
url, seed, *ids = sys.argv[1:]
rng = random.Random(seed)
store = SqlSessions(url)
open_sessions = {}
while True:
    id = rng.choice(ids)
    session = open_sessions.get(id) or open_sessions.setdefault(id, store.open(id))
    text = "x" * rng.choice([3, 300, 30000])
    print(id, session.append_message(UserMessage(text, 1)), flush=True)
"""


class Worker:
    """A process that appends until it is killed, and a thread that hears what was acknowledged."""

    def __init__(self, url: str, seed: float, acknowledged: dict[str, set[str]]) -> None:
        argv = [sys.executable, "-c", WORKER, url, str(seed), *acknowledged]
        self._process = subprocess.Popen(argv, env=os.environ, stdout=subprocess.PIPE, text=True)
        self._acknowledged = acknowledged
        self.begun = threading.Event()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        self._reader.join()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                if line.endswith("\n"):
                    id, entry = line.split()
                    self._acknowledged[id].add(entry)
                    self.begun.set()


def run_workers_and_kill(url: str, ids: list[str], workers: int, kills: int, seed: int) -> dict[str, set[str]]:
    """Let workers append to all sessions, and kill one after another; return the entries that were acknowledged."""
    rng = random.Random(seed)
    acknowledged: dict[str, set[str]] = {id: set() for id in ids}
    running = [Worker(url, rng.random(), acknowledged) for _ in range(workers)]
    for _ in range(kills):
        victim = running.pop(rng.randrange(len(running)))
        assert victim.begun.wait(60)
        time.sleep(rng.uniform(0, 0.2))
        victim.kill()
        running.append(Worker(url, rng.random(), acknowledged))
    for worker in running:
        worker.kill()
    return acknowledged


def check_nothing_is_lost(store: SqlSessions, acknowledged: Mapping[str, set[str]]) -> int:
    for id, entries in acknowledged.items():
        with store.open(id) as session:
            assert not session.problems
            known = [head.id for head in session.heads]
            assert len(set(known)) == len(known)
            assert entries <= set(known)
            assert len(known) - len(entries) <= 400  # those that a kill kept from being told
    return sum(map(len, acknowledged.values()))


def test_killed_workers_lose_nothing(store: SqlSessions, url: str) -> None:
    ids = [begun(store).id for _ in range(5)]
    told = run_workers_and_kill(url, ids, workers=3, kills=6, seed=1)
    assert check_nothing_is_lost(store, told) >= 6  # each that was killed had told of one at least


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_two_hundred_sessions_lose_nothing_under_kills(store: SqlSessions, url: str) -> None:
    seed = int(os.environ.get("PIOLET_SOAK_SEED", "0")) or random.randrange(10**6)
    print(f"seed {seed}")
    ids = [begun(store).id for _ in range(200)]
    told = run_workers_and_kill(url, ids, workers=8, kills=60, seed=seed)
    count = check_nothing_is_lost(store, told)
    print(f"{count} entries were acknowledged")
    assert count > 500


def test_the_tables_are_plain(tmp_path: Path) -> None:
    """A program without piolet can read them."""
    path = tmp_path / "sessions.db"
    store = SqlSessions(f"sqlite:///{path}")
    session = begun(store)
    store.close()
    with contextlib.closing(sqlite3.connect(path)) as connection:
        query = "select text from piolet_lines where session = ? order by position"
        rows = connection.execute(query, (session.id,)).fetchall()
    assert [json.loads(text)["type"] for (text,) in rows][:2] == ["session", "message"]
