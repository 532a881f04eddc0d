"""Sessions that are kept by id, in memory or in SQL databases: the rules of files hold, byte for byte."""

from __future__ import annotations

import json
import os
import stat
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from piolet.harness.session.copying import branched_session, clone, export_jsonl, fork
from piolet.harness.session.errors import (
    HistoryChanged,
    InvalidSessionId,
    NotASession,
    NotSaved,
    SessionError,
    UnknownSession,
    WriteFailed,
)
from piolet.harness.session.memory import MemorySessions
from piolet.harness.session.session import Session
from piolet.harness.session.stores import SessionStore
from tests.conformance import sessions
from tests.conformance.sessions.keeping import Stored, kept_in
from tests.harness.session.making import HEADER, answer, begun, said, shown, texts, user, write
from tests.support.run import ROOT

DATA = ROOT / "tests" / "data" / "conformance" / "sessions"


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
def store(request: pytest.FixtureRequest) -> Iterator[SessionStore]:
    if request.param == "memory":
        yield MemorySessions()
        return
    pytest.importorskip("sqlalchemy")
    from piolet.harness.session.sql import SqlSessions

    store = SqlSessions(request.getfixturevalue(f"{request.param}_url"))
    yield store
    for session in store.list():
        store.delete(session.id)
    store.close()


@pytest.mark.parametrize("group", sessions.ANYWHERE)
def test_the_vectors_of_files_hold(group: str, store: SessionStore) -> None:
    with kept_in(Stored(store)):
        outcomes = [outcome for path in sorted((DATA / group).glob("*.json")) for outcome in sessions.check(path)]
    assert [f"{outcome.name}: {outcome.why}" for outcome in outcomes if outcome.status != "passed"] == []
    assert outcomes


def test_a_session_is_stored_when_the_model_answers(store: SessionStore) -> None:
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


def test_a_session_goes_on_as_a_tree(store: SessionStore) -> None:
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


def test_forks_and_clones_are_kept_in_the_database(store: SessionStore) -> None:
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


def test_sessions_are_listed_newest_first_and_deleted(store: SessionStore) -> None:
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


def test_two_new_sessions_of_one_id_do_not_mix(store: SessionStore) -> None:
    one, two = store.create("/w", "same"), store.create("/w", "same")
    for session in (one, two):
        session.append_message(user("hi"))
    one.begin()
    with pytest.raises(WriteFailed, match="exists already"):
        two.append_message(answer("yes"))
    assert len(store.open("same").heads) == 1


def test_an_id_that_is_there_is_opened_and_not_created(store: SessionStore) -> None:
    session = begun(store)
    with pytest.raises(WriteFailed, match="exists already: open it"):
        store.create("/w", session.id)
    assert shown(store.open_or_create(session.id, "/w")) == ["hi", "yes"]


def test_the_first_messages_of_all_who_come_at_once_are_kept(store: SessionStore) -> None:
    start = threading.Barrier(4)

    def come(number: int) -> None:
        start.wait()
        session = store.open_or_create("ada", "/w")
        session.append_message(user(f"from {number}"))
        session.append_message(answer("yes"))

    threads = [threading.Thread(target=come, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    session = store.open("ada")
    messages = [texts(session.build_context(head.id).messages)[-1] for head in session.heads if head.role == "user"]
    assert sorted(messages) == [f"from {number}" for number in range(4)]
    assert len(session.heads) == 8


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_a_closed_store_and_its_sessions_refuse_to_go_on(kind: str) -> None:
    store: SessionStore = MemorySessions()
    if kind == "sqlite":
        pytest.importorskip("sqlalchemy")
        from piolet.harness.session.sql import SqlSessions

        store = SqlSessions("sqlite://")
    session, draft = begun(store), store.create("/w")
    store.close()
    for one in (session, draft):
        with pytest.raises(WriteFailed, match="was closed"):
            one.append_message(user("no"))
    with pytest.raises(SessionError, match="was closed"):
        store.open(session.id)
    with pytest.raises(SessionError, match="was closed"):
        store.list()


def test_half_a_character_is_no_session_id(store: SessionStore, tmp_path: Path) -> None:
    file = write(tmp_path / "s.jsonl", header=HEADER | {"id": "\ud83d"})
    for use in (
        lambda: store.open("\ud83d"),
        lambda: store.delete("\ud83d"),
        lambda: store.create("/w", "\ud83d"),
        lambda: store.open_or_create("\ud83d", "/w"),
        lambda: store.import_jsonl(str(file)),
    ):
        with pytest.raises(InvalidSessionId, match="cannot be a session id"):
            use()


def test_a_claim_tells_of_another_session_object(store: SessionStore) -> None:
    one = begun(store)
    assert not one.claim()
    with store.open(one.id) as two:
        assert two.claim()
    other = begun(store)
    assert not other.claim()
    one.close()
    with store.open(one.id) as three:
        assert not three.claim()
    other.close()


def test_a_read_only_session_is_not_appended_to(store: SessionStore) -> None:
    id = begun(store).id
    with store.open(id, read_only=True) as session, pytest.raises(SessionError, match="reading only"):
        session.append_message(user("no"))


def test_large_sessions_come_in_pieces(store: SessionStore, tmp_path: Path) -> None:
    lines = [said(f"e{n}", f"e{n - 1}" if n else None, "x" * (n % 50)) for n in range(1234)]
    session = store.import_jsonl(str(write(tmp_path / "s.jsonl", *lines)))
    assert len(session.heads) == 1234
    assert len(session.entries) == 1234
    assert session.path_to()[0].id == "e0"


def test_threads_on_one_session_take_turns(store: SessionStore) -> None:
    """Neither loses anything, each sees what the other has written, and each goes on with a branch of its own."""
    id = begun(store).id
    written: dict[int, list[str]] = {0: [], 1: []}

    def work(number: int) -> None:
        session = store.open(id)
        for turn in range(40):
            written[number].append(session.append_message(user(f"{number} {turn}")))

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


def test_an_append_takes_in_what_others_wrote(store: SessionStore) -> None:
    one = begun(store)
    two = store.open(one.id)
    new = two.append_message(user("from two"))
    mine = one.append_message(user("from one"))
    assert [head.id for head in one.heads][-2:] == [new, mine]
    assert len({head.id for head in one.heads}) == 4


# ------------------------------------------------------------------------------------------------- from and to files


FILES = {
    "plain": [said("u1", None), said("a1", "u1", role="assistant")],
    "malformed": [said("u1", None), "not json", "", b"\xff\xfe", '{"type":"custom"}', said("u2", "u1")],
    "carriage returns": [json.dumps(said("u1", None)) + "\r", "\r"],
    "unknown": ['{"type":"new-kind","id":"n1","parentId":null,"x":[1.0,1e2,"\\ud83d"],"z":{}}'],
}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("end", [b"", b"\n\n"])
def test_import_and_export_give_the_same_bytes(store: SessionStore, name: str, end: bytes, tmp_path: Path) -> None:
    source = write(tmp_path / "s.jsonl", *FILES[name])
    source.write_bytes(b"\xef\xbb\xbf" + source.read_bytes() + end)
    with Session.open(str(source), read_only=True) as original, store.import_jsonl(str(source)) as session:
        assert [head.id for head in session.heads] == [head.id for head in original.heads]
        assert session.problems == original.problems
        assert shown(session) == shown(original)
    target = store.export_jsonl(session.id, str(tmp_path / "new" / "t.jsonl"))
    assert Path(target).read_bytes() == source.read_bytes()
    assert stat.S_IMODE(os.stat(target).st_mode) == 0o600


def test_what_is_appended_is_exported_as_a_file_would_have_it(store: SessionStore, tmp_path: Path) -> None:
    session = begun(store, "é\n\u2028", "\ud83d lone")
    exported = store.export_jsonl(session.id, str(tmp_path / "t.jsonl"))
    assert Path(exported).read_bytes().split(b"\n")[1:-1] == session.lines(session.heads)
    with Session.open(exported) as file:
        assert shown(file) == shown(session)
        file.append_message(user("on"))
    store.delete(session.id)
    assert shown(store.import_jsonl(exported))[-1] == "on"


def test_an_unfinished_last_line_is_ended_before_the_next_append(store: SessionStore, tmp_path: Path) -> None:
    source = write(tmp_path / "s.jsonl", said("u1", None))
    source.write_bytes(source.read_bytes() + b'{"type":"message","id":"u2","par')
    whole = store.import_jsonl(str(source))
    assert [problem.kind for problem in whole.problems] == ["torn"]
    new = whole.append_message(user("next"))
    again = store.open(whole.id)
    assert [head.id for head in again.heads] == ["u1", new]
    exported = Path(store.export_jsonl(whole.id, str(tmp_path / "t.jsonl"))).read_bytes()
    assert exported.startswith(source.read_bytes() + b"\n")


def test_old_versions_are_migrated_when_they_are_imported(store: SessionStore, tmp_path: Path) -> None:
    source = write(
        tmp_path / "s.jsonl",
        {"type": "message", "timestamp": "2026-01-01T00:00:01.000Z", "message": said("x", None)["message"]},
        header={key: value for key, value in HEADER.items() if key != "version"},
    )
    session = store.import_jsonl(str(source))
    assert session.header.version == 3
    assert shown(session) == ["x"]


def test_what_is_no_session_and_what_is_there_already_is_not_imported(store: SessionStore, tmp_path: Path) -> None:
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


def test_one_branch_is_exported_as_from_a_file(store: SessionStore, tmp_path: Path) -> None:
    session = begun(store, "more")
    path = export_jsonl(session, str(tmp_path / "t.jsonl"), session.heads[1].id)
    with Session.open(path) as file:
        assert shown(file) == ["hi", "yes"]


def test_a_fork_of_a_session_is_a_fork_of_its_file(store: SessionStore, tmp_path: Path) -> None:
    source = write(tmp_path / "s.jsonl", *FILES["malformed"], *FILES["unknown"])
    imported = store.import_jsonl(str(source))
    forks = [store.fork_from(imported.id, "/elsewhere"), store.fork_jsonl(str(source), "/elsewhere", "mine")]
    for copy in forks:
        assert copy.cwd == "/elsewhere"
        assert copy.lines(copy.heads) == imported.lines(imported.heads)
        assert [problem.kind for problem in copy.problems] == ["no-id"]
    assert [copy.header.parent_session for copy in forks] == [imported.id, str(source)]
    with pytest.raises(WriteFailed, match="exists already"):
        store.fork_jsonl(str(source), "/elsewhere", "mine")
    with pytest.raises(UnknownSession):
        store.fork_from("nobody", "/elsewhere")
