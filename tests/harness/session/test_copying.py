"""Forks, clones, exports and imports: new sessions from old ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from piolet.base.json import loads
from piolet.harness.session.copying import (
    branched_session,
    clone,
    export_jsonl,
    fork,
    fork_from,
    fork_points,
    import_jsonl,
)
from piolet.harness.session.errors import (
    InvalidEntry,
    InvalidSessionId,
    MissingCwd,
    NotASession,
    NotSaved,
    SessionError,
    UnknownEntry,
)
from piolet.harness.session.session import Session
from tests.harness.session.making import HEADER, answer, entry, said, user, write


def opened(path: Path) -> Session:
    return Session.open(str(path))


def stored(session: Session) -> list[dict[str, Any]]:
    return [loads(line) for line in Path(session.path or "").read_bytes().split(b"\n") if line]


def labelled(tmp_path: Path) -> Path:
    return write(
        tmp_path / "s.jsonl",
        said("u1", None),
        entry("label", "l1", "u1", targetId="u1", label="start"),
        '{"type": "message",  "id": "a1", "parentId": "l1", "more": 1.0, "message": {"role":"assistant"}}',
        entry("label", "l2", "a1", targetId="l1", label="on a label"),
        entry("compaction", "c1", "l2", summary="S", firstKeptEntryId="l2", tokensBefore=5),
        said("u2", "c1"),
        said("other", "a1"),
        entry("label", "l3", "other", targetId="a1", label="from elsewhere"),
        entry("label", "l4", "l3", targetId="other", label="not on the path"),
    )


def test_a_branch_copy_leaves_labels_out_of_the_chain_and_appends_those_in_force(tmp_path: Path) -> None:
    with opened(labelled(tmp_path)) as session:
        copy = branched_session(session, "u2")
    header, *entries = stored(copy)
    assert header["parentSession"] == session.path
    assert (header["cwd"], header["version"]) == ("/home/dev/proj", 3)
    assert header["id"] != "s1"
    assert [(e["type"], e["parentId"]) for e in entries[:4]] == [
        ("message", None),
        ("message", "u1"),
        ("compaction", "a1"),
        ("message", "c1"),
    ]
    assert entries[1]["more"] == 1
    assert entries[2]["firstKeptEntryId"] == "c1"
    assert [(e["targetId"], e["label"]) for e in entries[4:]] == [("u1", "start"), ("a1", "from elsewhere")]
    assert [e["parentId"] for e in entries[4:]] == ["u2", entries[4]["id"]]
    assert entries[4]["timestamp"] == "2026-01-01T00:00:01.000Z"
    assert copy.leaf_id == entries[-1]["id"]


def test_unchanged_lines_are_copied_byte_for_byte(tmp_path: Path) -> None:
    odd = b'{ "type":"message","id":"a1","parentId":"u1","n":1.50,"message":{"role":"assistant","content":"\\u00e9"}}'
    path = write(tmp_path / "s.jsonl", said("u1", None), odd)
    with opened(path) as session:
        for copied in (clone(session).path, export_jsonl(session, str(tmp_path / "out.jsonl"))):
            assert odd in Path(copied or "").read_bytes().split(b"\n")
    assert odd in Path(fork_from(str(path), "/x", str(tmp_path / "other")).path or "").read_bytes().split(b"\n")


def test_a_fork_ends_before_the_message_and_gives_its_text(tmp_path: Path) -> None:
    path = write(tmp_path / "s.jsonl", said("u1", None), said("a1", "u1", role="assistant"), said("u2", "a1", "two"))
    with opened(path) as session:
        forked, text = fork(session, "u2")
        assert text == "two"
        assert [head.id for head in forked.heads] == ["u1", "a1"]
        assert forked.saved
        empty, text = fork(session, "u1")
        assert (text, empty.heads, empty.saved, empty.header.parent_session) == ("u1", [], False, session.path)
        with pytest.raises(InvalidEntry):
            fork(session, "a1")
        with pytest.raises(UnknownEntry):
            fork(session, "nothing")
        assert fork_points(session) == [("u1", "u1"), ("u2", "two")]


def test_what_has_no_file_yet_can_only_be_forked_to_an_empty_start(tmp_path: Path) -> None:
    session = Session.create("/home/dev", str(tmp_path))
    with pytest.raises(InvalidEntry):
        clone(session)
    first = session.append_message(user("a"))
    second = session.append_message(user("b"))
    with pytest.raises(NotSaved):
        clone(session)
    with pytest.raises(NotSaved):
        fork(session, second)
    forked, text = fork(session, first)
    assert (text, forked.heads, forked.saved) == ("a", [], False)


def test_a_copy_without_an_answer_is_written_later(tmp_path: Path) -> None:
    failed = said("a1", "u1", role="assistant")
    failed["message"] |= {"content": [], "stopReason": "error"}
    with opened(write(tmp_path / "s.jsonl", said("u1", None), failed)) as session:
        copy = clone(session)
    assert not copy.saved
    copy.append_message(answer())
    assert len(stored(copy)) == 4


def test_in_memory_a_copy_has_neither_file_nor_parent() -> None:
    session = Session.in_memory("/home/dev")
    first = session.append_message(answer("a"))
    session.append_message(user("b"))
    copy = branched_session(session, first)
    assert (copy.path, copy.header.parent_session, [head.id for head in copy.heads]) == (None, None, [first])
    assert len(session.heads) == 2


def test_a_cross_project_fork_copies_all_branches_without_damage(tmp_path: Path) -> None:
    path = write(tmp_path / "s.jsonl", said("u1", None), "{damaged", "42", HEADER, said("u2", None))
    path.write_bytes(path.read_bytes() + b'{"torn')
    before = path.read_bytes()
    forked = fork_from(str(path), "/home/other", str(tmp_path / "other"), "given")
    assert [line["id"] for line in stored(forked)] == ["given", "u1", "u2"]
    assert (forked.cwd, forked.header.parent_session, forked.leaf_id) == ("/home/other", str(path), "u2")
    assert path.read_bytes() == before
    with pytest.raises(InvalidSessionId):
        fork_from(str(path), "/home/other", str(tmp_path / "other"), "-no")
    with pytest.raises(NotASession):
        fork_from(str(write(tmp_path / "no.jsonl", said("u1", None), header=None)), "/x", str(tmp_path))


def test_a_fork_of_an_old_file_is_migrated_and_the_old_file_stays(tmp_path: Path) -> None:
    old = {"type": "session", "id": "old", "timestamp": "2025-01-01T00:00:00.000Z", "cwd": "/x"}
    path = write(tmp_path / "s.jsonl", {"type": "message", "message": {"role": "user", "content": "q"}}, header=old)
    before = path.read_bytes()
    forked = fork_from(str(path), "/home/other", str(tmp_path / "other"))
    assert len(forked.heads[0].id) == 8
    assert path.read_bytes() == before
    assert sorted(tmp_path.glob("*.bak")) == []


def test_an_export_is_the_current_branch_relinked(tmp_path: Path) -> None:
    with opened(labelled(tmp_path)) as session:
        session.branch("u2")
        path = export_jsonl(session, str(tmp_path / "a" / "b.jsonl"))
        lines = [json.loads(line) for line in Path(path).read_text().splitlines()]
        assert "parentSession" not in lines[0]
        assert lines[0]["id"] == "s1"
        assert [line["id"] for line in lines[1:]] == ["u1", "l1", "a1", "l2", "c1", "u2"]
        with pytest.raises(SessionError, match="the session itself"):
            export_jsonl(session, session.path)
        assert len(session.entries) == 9


def test_an_orphan_branch_is_exported_with_a_root(tmp_path: Path) -> None:
    with opened(write(tmp_path / "s.jsonl", said("u1", "gone"), said("u2", "u1"))) as session:
        lines = Path(export_jsonl(session, str(tmp_path / "out.jsonl"))).read_text().splitlines()
    assert [json.loads(line)["parentId"] for line in lines[1:]] == [None, "u1"]


def test_an_import_takes_its_own_name_or_a_number(tmp_path: Path) -> None:
    source = write(tmp_path / "s.jsonl", said("u1", None), header=HEADER | {"cwd": str(tmp_path)})
    folder = tmp_path / "sessions"
    names = [Path(import_jsonl(str(source), str(folder))).name for _ in range(3)]
    assert names == ["s.jsonl", "s-1.jsonl", "s-2.jsonl"]
    assert (folder / "s-2.jsonl").read_bytes() == source.read_bytes()
    assert import_jsonl(str(folder / "s.jsonl"), str(folder)) == str(folder / "s.jsonl")
    assert len(list(folder.iterdir())) == 3


def test_an_import_that_cannot_be_used_leaves_nothing(tmp_path: Path) -> None:
    source = write(tmp_path / "s.jsonl", said("u1", None), header=HEADER | {"cwd": "/nowhere/at/all"})
    folder = tmp_path / "sessions"
    with pytest.raises(MissingCwd):
        import_jsonl(str(source), str(folder))
    with pytest.raises(NotASession):
        import_jsonl(str(write(tmp_path / "no.jsonl", said("u1", None), header=None)), str(folder))
    with pytest.raises(SessionError):
        import_jsonl(str(tmp_path / "missing.jsonl"), str(folder))
    assert not folder.exists()
    assert Path(import_jsonl(str(source), str(folder), cwd_override=str(tmp_path))).exists()
