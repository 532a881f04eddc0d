"""Sessions in SQL databases: the rules of files hold, byte for byte, for workers that share them."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import random
import sqlite3
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("sqlalchemy")

from piolet.harness.session.copying import branched_session, clone, export_jsonl, fork
from piolet.harness.session.errors import (
    HistoryChanged,
    NotASession,
    NotSaved,
    SessionError,
    UnknownSession,
    WriteFailed,
)
from piolet.harness.session.session import Session
from piolet.harness.session.sql import SqlSessions
from tests.conformance import sessions
from tests.conformance.sessions.keeping import kept_in
from tests.conformance.sessions.vectors import is_target
from tests.harness.session.making import HEADER, answer, said, texts, user, write
from tests.support.postgres import PostgresServer, postgres_programs
from tests.support.run import ROOT

DATA = ROOT / "tests" / "data" / "conformance" / "sessions"


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    programs = postgres_programs()
    if programs is None:
        pytest.skip("the programs of a PostgreSQL server are not installed")
    if importlib.util.find_spec("psycopg") is None:
        pytest.skip("psycopg is not installed")
    server = PostgresServer(programs)
    yield server
    server.stop()


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "postgresql":
        server: PostgresServer = request.getfixturevalue("postgres")
        return server.url
    return f"sqlite:///{tmp_path / 'sessions.db'}"


@pytest.fixture
def store(url: str) -> Iterator[SqlSessions]:
    store = SqlSessions(url)
    yield store
    for session in store.list():
        store.delete(session.id)
    store.close()


def begun(store: SqlSessions, *texts: str) -> Session:
    session = store.create("/home/dev/proj")
    session.append_message(user("hi"))
    session.append_message(answer("yes"))
    for text in texts:
        session.append_message(user(text))
    return session


def shown(session: Session) -> list[str]:
    return texts(session.build_context().messages)


# ----------------------------------------------------------------------------------------------------- conformance


class Sql:
    """Sessions of vectors in a database."""

    without = frozenset({"sessionFile", "fileName"})

    def __init__(self, store: SqlSessions) -> None:
        self._store = store
        self._sources: dict[str, str] = {}

    def put(self, data: bytes, folder: str, *, read_only: bool = False) -> Session:
        path = Path(folder) / "s.jsonl"
        path.write_bytes(data)
        imported = self._imported(path)
        return self._store.open(imported, read_only=read_only)

    def create(self, cwd: str, folder: str, id: str | None = None) -> Session:
        return self._store.create(cwd, id)

    def fork(self, data: bytes, folder: str, target_cwd: str, id: str | None) -> Session:
        path = Path(folder) / "src.jsonl"
        path.write_bytes(data)
        return self._store.fork_from(self._imported(path), target_cwd, id)

    def text(self, session: Session) -> bytes | None:
        if not session.saved:
            return None
        with tempfile.TemporaryDirectory() as folder:
            return Path(self._store.export_jsonl(session.id, f"{folder}/exported.jsonl")).read_bytes()

    def header(self, header: Mapping[str, Any], folder: str) -> Mapping[str, Any]:
        origin = header.get("parentSession")
        return {**header, "parentSession": self._sources[origin]} if origin in self._sources else header

    def _imported(self, path: Path) -> str:
        for session in self._store.list():
            self._store.delete(session.id)
        id = self._store.import_jsonl(str(path)).id
        self._sources[id] = str(path)
        return id


@pytest.mark.parametrize("group", ["append", "context", "tree", "fork"])
def test_the_vectors_of_files_hold(group: str, store: SqlSessions) -> None:
    names = []
    with kept_in(Sql(store)):
        for path in sorted((DATA / group).glob("*.json")):
            if path.name == "fork-from-v1-file.json":
                continue  # it shows pi's copy of a file that is not migrated; here imports are
            for outcome in sessions.check(path):
                assert outcome.status != "failed", f"{outcome.name}: {outcome.why}"
                names.append(outcome.name)
    assert len(names) >= len([path for path in (DATA / group).glob("*.json") if is_target_file(path)]) - 1


def is_target_file(path: Path) -> bool:
    return is_target(path, json.loads(path.read_text(encoding="utf-8")))


# ---------------------------------------------------------------------------------------------------------- one worker


def test_a_session_is_stored_when_the_model_answers(store: SqlSessions) -> None:
    session = store.create("/home/dev/proj", "my-id")
    session.append_message(user("hi"))
    assert not session.saved
    assert store.list() == []
    with pytest.raises(UnknownSession, match="There is no session my-id in "):
        store.open("my-id")
    session.append_message(answer("yes"))
    session.append_message(user("more"))
    assert session.saved
    assert session.path is None
    with store.open("my-id") as again:
        assert shown(again) == ["hi", "yes", "more"]
        assert again.cwd == "/home/dev/proj"


def test_a_session_goes_on_as_a_tree(store: SqlSessions) -> None:
    session = begun(store)
    first = session.heads[0].id
    session.branch(first)
    session.append_message(user("other"))
    session.append_label(first, "here")
    session.append_compaction("short", None, 100)
    with store.open(session.id) as again:
        assert [head.id for head in again.heads] == [head.id for head in session.heads]
        assert len(again.children(first)) == 2
        assert again.labels[first].text == "here"
        assert shown(again) == ["short"]


def test_forks_and_clones_are_kept_in_the_database(store: SqlSessions) -> None:
    session = begun(store, "again")
    copy = clone(session)
    forked, text = fork(session, session.heads[2].id)
    branch = branched_session(session, session.heads[1].id)
    assert text == "again"
    assert [copy.header.parent_session, forked.header.parent_session] == [session.id, session.id]
    assert {found.id for found in store.list()} == {session.id, copy.id, forked.id, branch.id}
    assert shown(store.open(forked.id)) == ["hi", "yes"]
    draft = store.create("/w")
    draft.append_message(user())
    with pytest.raises(NotSaved):
        clone(draft)


def test_sessions_are_listed_newest_first_and_deleted(store: SqlSessions) -> None:
    old = begun(store)
    time.sleep(0.005)
    new = begun(store)
    assert [(found.id, found.cwd) for found in store.list()] == [(new.id, "/home/dev/proj"), (old.id, "/home/dev/proj")]
    time.sleep(0.005)
    old.append_message(user("late"))
    assert [found.id for found in store.list()] == [old.id, new.id]
    store.delete(old.id)
    assert [found.id for found in store.list()] == [new.id]
    with pytest.raises(UnknownSession):
        store.delete(old.id)
    with pytest.raises(HistoryChanged, match="no longer the file of session"):
        old.append_message(user("too late"))


def test_two_new_sessions_of_one_id_do_not_mix(store: SqlSessions) -> None:
    one, two = store.create("/w", "same"), store.create("/w", "same")
    for session in (one, two):
        session.append_message(user("hi"))
    one.begin()
    with pytest.raises(WriteFailed, match="exists already"):
        two.append_message(answer("yes"))
    assert len(store.open("same").heads) == 1


def test_a_read_only_session_is_not_appended_to(store: SqlSessions) -> None:
    id = begun(store).id
    with store.open(id, read_only=True) as session, pytest.raises(SessionError, match="reading only"):
        session.append_message(user("no"))


def test_large_sessions_come_in_pieces(store: SqlSessions, tmp_path: Path) -> None:
    lines = [said(f"e{n}", f"e{n - 1}" if n else None, "x" * (n % 50)) for n in range(1234)]
    session = store.import_jsonl(str(write(tmp_path / "s.jsonl", *lines)))
    assert len(session.heads) == 1234
    assert len(session.entries) == 1234
    assert session.path_to()[0].id == "e0"


# ------------------------------------------------------------------------------------------------- from and to files


FILES = {
    "plain": [said("u1", None), said("a1", "u1", role="assistant")],
    "malformed": [said("u1", None), "not json", "", b"\xff\xfe", '{"type":"custom"}', said("u2", "u1")],
    "carriage returns": [json.dumps(said("u1", None)) + "\r", "\r"],
    "unknown": ['{"type":"new-kind","id":"n1","parentId":null,"x":[1.0,1e2,"\\ud83d"],"z":{}}'],
}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("end", [b"", b"\n\n"])
def test_import_and_export_give_the_same_bytes(store: SqlSessions, name: str, end: bytes, tmp_path: Path) -> None:
    source = write(tmp_path / "s.jsonl", *FILES[name])
    source.write_bytes(b"\xef\xbb\xbf" + source.read_bytes() + end)
    with Session.open(str(source), read_only=True) as original, store.import_jsonl(str(source)) as session:
        assert [head.id for head in session.heads] == [head.id for head in original.heads]
        assert session.problems == original.problems
        assert shown(session) == shown(original)
    target = store.export_jsonl(session.id, str(tmp_path / "new" / "t.jsonl"))
    assert Path(target).read_bytes() == source.read_bytes()
    assert stat.S_IMODE(os.stat(target).st_mode) == 0o600


def test_what_is_appended_is_exported_as_a_file_would_have_it(store: SqlSessions, tmp_path: Path) -> None:
    session = begun(store, "é\n\u2028", "\ud83d lone")
    exported = store.export_jsonl(session.id, str(tmp_path / "t.jsonl"))
    assert Path(exported).read_bytes().split(b"\n")[1:-1] == session.lines(session.heads)
    with Session.open(exported) as file:
        assert shown(file) == shown(session)
        file.append_message(user("on"))
    store.delete(session.id)
    assert shown(store.import_jsonl(exported))[-1] == "on"


def test_an_unfinished_last_line_is_ended_before_the_next_append(store: SqlSessions, tmp_path: Path) -> None:
    source = write(tmp_path / "s.jsonl", said("u1", None))
    source.write_bytes(source.read_bytes() + b'{"type":"message","id":"u2","par')
    whole = store.import_jsonl(str(source))
    assert [problem.kind for problem in whole.problems] == ["torn"]
    new = whole.append_message(user("next"))
    again = store.open(whole.id)
    assert [head.id for head in again.heads] == ["u1", new]
    exported = Path(store.export_jsonl(whole.id, str(tmp_path / "t.jsonl"))).read_bytes()
    assert exported.startswith(source.read_bytes() + b"\n")


def test_old_versions_are_migrated_when_they_are_imported(store: SqlSessions, tmp_path: Path) -> None:
    source = write(
        tmp_path / "s.jsonl",
        {"type": "message", "timestamp": "2026-01-01T00:00:01.000Z", "message": said("x", None)["message"]},
        header={key: value for key, value in HEADER.items() if key != "version"},
    )
    session = store.import_jsonl(str(source))
    assert session.header.version == 3
    assert shown(session) == ["x"]


def test_what_is_no_session_and_what_is_there_already_is_not_imported(store: SqlSessions, tmp_path: Path) -> None:
    source = write(tmp_path / "s.jsonl", said("u1", None))
    store.import_jsonl(str(source))
    with pytest.raises(WriteFailed, match="exists already"):
        store.import_jsonl(str(source))
    with pytest.raises(NotASession, match="does not begin with a session header"):
        store.import_jsonl(str(write(tmp_path / "no.jsonl", "{}", header=None)))
    with pytest.raises(SessionError, match="No such file"):
        store.import_jsonl(str(tmp_path / "missing.jsonl"))
    with pytest.raises(UnknownSession):
        store.export_jsonl("nobody", str(tmp_path / "t.jsonl"))


def test_one_branch_is_exported_as_from_a_file(store: SqlSessions, tmp_path: Path) -> None:
    session = begun(store, "more")
    path = export_jsonl(session, str(tmp_path / "t.jsonl"), session.heads[1].id)
    with Session.open(path) as file:
        assert shown(file) == ["hi", "yes"]


# ------------------------------------------------------------------------------------------------------ many workers


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


def test_an_append_takes_in_what_others_wrote(store: SqlSessions) -> None:
    one = begun(store)
    two = store.open(one.id)
    new = two.append_message(user("from two"))
    mine = one.append_message(user("from one"))
    assert [head.id for head in one.heads][-2:] == [new, mine]
    assert len({head.id for head in one.heads}) == 4


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


def test_a_database_in_memory_serves_too() -> None:
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
