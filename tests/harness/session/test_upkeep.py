"""Migration, verification and repair, renaming, deleting, and who has a session in use."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from piolet.base.json import loads
from piolet.harness.session.errors import NewerVersion, SessionError
from piolet.harness.session.session import Session
from piolet.harness.session.upkeep import delete_session, rename_session
from piolet.harness.session.verify import repair, verify
from tests.harness.session.making import HEADER, entry, said, texts, write

V1 = {"type": "session", "id": "old", "timestamp": "2025-01-01T00:00:00.000Z", "cwd": "/x"}


def old_file(path: Path) -> Path:
    return write(
        path,
        {"type": "message", "message": {"role": "user", "content": "q"}},
        "{damaged",
        "",
        {"type": "message", "message": {"role": "hookMessage", "customType": "x", "content": "h", "display": True}},
        {"type": "compaction", "summary": "s", "firstKeptEntryIndex": 2, "tokensBefore": 1},
        header=V1,
    )


# ------------------------------------------------------------------------------------------------------------ migration


def test_an_old_file_is_rewritten_and_kept_beside(tmp_path: Path) -> None:
    path = old_file(tmp_path / "s.jsonl")
    path.chmod(0o640)
    before = path.read_bytes()
    with Session.open(str(path)) as session:
        assert session.header.version == 3
        assert texts(session.build_context().messages) == ["s", "h"]
        assert not session.problems
    assert (tmp_path / "s.jsonl.v1.bak").read_bytes() == before
    assert path.stat().st_mode & 0o777 == 0o640
    assert sorted(os.listdir(tmp_path)) == ["s.jsonl", "s.jsonl.v1.bak"]
    after = path.read_bytes()
    Session.open(str(path)).close()
    assert path.read_bytes() == after


def test_a_backup_that_is_there_stays_as_it_is(tmp_path: Path) -> None:
    path = write(tmp_path / "s.jsonl", said("u1", None), header=HEADER | {"version": 2})
    (tmp_path / "s.jsonl.v2.bak").write_text("mine")
    Session.open(str(path)).close()
    assert loads(path.read_bytes().split(b"\n")[0])["version"] == 3
    assert (tmp_path / "s.jsonl.v2.bak").read_text() == "mine"


def test_a_symlink_to_an_old_file_stays_one(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    real = old_file(tmp_path / "real" / "s.jsonl")
    (tmp_path / "link.jsonl").symlink_to(real)
    Session.open(str(tmp_path / "link.jsonl")).close()
    assert (tmp_path / "link.jsonl").is_symlink()
    assert (tmp_path / "real" / "s.jsonl.v1.bak").exists()


def test_reading_an_old_file_migrates_in_memory_alone(tmp_path: Path) -> None:
    path = old_file(tmp_path / "s.jsonl")
    before = path.read_bytes()
    with Session.open(str(path), read_only=True) as session:
        assert texts(session.build_context().messages) == ["s", "h"]
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["s.jsonl"]


# ------------------------------------------------------------------------------------------------- verify and repair


def test_a_sound_file_has_no_problems(tmp_path: Path) -> None:
    report = verify(str(write(tmp_path / "s.jsonl", said("u1", None), "", said("u2", "u1"))))
    assert (report.entries, list(report.problems)) == (2, [])


def damaged_file(path: Path) -> Path:
    write(
        path,
        said("u1", None),
        '{"type":"message","id":"lost","parentId":"u1","message":{"role":"user","content":"unfini',
        said("u2", "lost"),
        "42",
        '{"type":"message","message":{"role":"user","content":"no id"}}',
        said("u3", "nowhere"),
        said("twice", "u3", "first"),
        said("twice", "u3", "second"),
        said("c1", "c2"),
        said("c2", "c1"),
        said("own", "own"),
        entry("message", "empty", "own", message=None),
        entry("of the future", "f1", "empty"),
        {"type": "custom", "id": "bad", "parentId": 7, "customType": "x"},
    )
    path.write_bytes(path.read_bytes() + b'{"torn')
    return path


def test_verification_names_every_flaw_with_its_line(tmp_path: Path) -> None:
    path = damaged_file(tmp_path / "s.jsonl")
    before = path.read_bytes()
    report = verify(str(path))
    assert [(problem.line, problem.kind) for problem in report.problems] == [
        (3, "malformed"),
        (4, "missing-parent"),
        (5, "not-an-entry"),
        (6, "no-id"),
        (7, "missing-parent"),
        (9, "duplicate-id"),
        (10, "cycle"),
        (12, "cycle"),
        (13, "unreadable"),
        (15, "missing-parent"),
        (16, "torn"),
    ]
    assert path.read_bytes() == before


def test_a_repaired_copy_is_sound_and_complete_and_the_original_untouched(tmp_path: Path) -> None:
    path = damaged_file(tmp_path / "s.jsonl")
    before = path.read_bytes()
    copy = repair(str(path))
    assert copy == str(tmp_path / "s.repaired.jsonl")
    assert [problem.kind for problem in verify(copy).problems] == ["unreadable"]
    assert path.read_bytes() == before
    with Session.open(copy) as session:
        parents = {text: head.parent_id for head, text in zip(session.heads, map(str, session.entries), strict=True)}
        assert len(parents) == 12
        assert session.head("u2").parent_id == "u1"
        assert session.head("u3").parent_id == session.heads[2].id
        assert session.heads[2].parent_id == "u2"
        assert texts(session.build_context("twice").messages) == ["u1", "u2", "no id", "u3", "second"]
        assert (session.head("c1").parent_id, session.head("own").parent_id) == (None, None)
    assert repair(str(path)) == str(tmp_path / "s.repaired-2.jsonl")


def test_entries_without_ids_under_a_new_header_become_a_chain(tmp_path: Path) -> None:
    lines = [{"type": "message", "message": {"role": "user", "content": text}} for text in "abc"]
    with Session.open(repair(str(write(tmp_path / "s.jsonl", *lines)))) as session:
        assert texts(session.build_context().messages) == ["a", "b", "c"]


def test_a_lost_header_is_made_again_from_the_name_of_the_file(tmp_path: Path) -> None:
    path = write(tmp_path / "2025-01-10T09-00-00-000Z_my-id.jsonl", '{"type":"sess', said("u1", None), header=None)
    assert [problem.kind for problem in verify(str(path)).problems] == ["no-header", "malformed"]
    with Session.open(repair(str(path))) as session:
        assert (session.id, [head.id for head in session.heads]) == ("my-id", ["u1"])


def test_old_files_are_sound_and_newer_ones_are_not_repaired(tmp_path: Path) -> None:
    path = old_file(tmp_path / "s.jsonl")
    assert [problem.kind for problem in verify(str(path)).problems] == ["malformed"]
    with Session.open(repair(str(path)), read_only=True) as session:
        assert (session.header.version, len(session.heads)) == (3, 3)
    newer = write(tmp_path / "n.jsonl", "{bad", header=HEADER | {"version": 4})
    with pytest.raises(NewerVersion):
        repair(str(newer))


# ------------------------------------------------------------------------------------------------------------- upkeep


def test_renaming_appends_an_entry(tmp_path: Path) -> None:
    path = write(tmp_path / "s.jsonl", said("u1", None))
    before = path.read_bytes()
    rename_session(str(path), "new name")
    assert path.read_bytes().startswith(before)
    with Session.open(str(path)) as session:
        assert session.name == "new name"


def fake_trash(folder: Path, text: str) -> None:
    (folder / "trash").write_text(f"#!/bin/sh\n{text}\n")
    (folder / "trash").chmod(0o755)


@pytest.mark.parametrize(
    ("script", "how", "kept"),
    [
        ('mv "$1" "$HOME/can"', "trash", True),
        ('mv "$1" "$HOME/can"; exit 1', "trash", True),
        ("exit 0", "deleted", False),
        ("exit 1", "deleted", False),
        (None, "deleted", False),
    ],
)
def test_deleting_uses_a_trash_that_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str | None, how: str, kept: bool
) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "can").mkdir()
    path = write(tmp_path / "s.jsonl")
    if script is not None:
        fake_trash(tmp_path / "bin", script)
    for tool in ("mv", "sh"):
        (tmp_path / "bin" / tool).symlink_to(f"/bin/{tool}")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("HOME", str(tmp_path))
    assert delete_session(str(path)) == how
    assert not path.exists()
    assert (tmp_path / "can" / "s.jsonl").exists() == kept


# ------------------------------------------------------------------------------------------------------------- presence

HOLD = """
import sys
from piolet.harness.session.session import Session
session = Session.open(sys.argv[1])
print(session.claim(), flush=True)
input()
"""


def hold(path: Path) -> subprocess.Popen[str]:
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    return subprocess.Popen([sys.executable, "-c", HOLD, str(path)], env=env, text=True, **pipes)


def test_who_opens_a_session_in_use_is_told_however_the_other_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr("tempfile.tempdir", None)
    path = write(tmp_path / "s.jsonl", said("u1", None))
    (tmp_path / "link.jsonl").symlink_to(path)
    for kill in (False, True):
        with hold(path) as other:
            assert other.stdout is not None
            assert other.stdin is not None
            assert other.stdout.readline().strip() == "False"
            session = Session.open(str(tmp_path / "link.jsonl"))
            assert session.claim()
            assert session.claim()
            with pytest.raises(SessionError, match="in use"):
                delete_session(str(path))
            session.close()
            if kill:
                other.kill()
            other.stdin.close()
        session = Session.open(str(path))
        assert not session.claim()
        session.close()
    assert sorted(os.listdir(tmp_path)) == ["link.jsonl", "s.jsonl", "tmp"]
    assert [list(folder.iterdir()) for folder in (tmp_path / "tmp").iterdir()] == [[]]


def test_nobody_claims_what_has_no_file() -> None:
    session = Session.in_memory("/home/dev")
    assert not session.claim()
    session.close()


def test_a_folder_of_locks_that_is_not_ours_alone_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / f"piolet-{os.getuid()}").mkdir(mode=0o777)
    (tmp_path / f"piolet-{os.getuid()}").chmod(0o777)
    session = Session.open(str(write(tmp_path / "s.jsonl")))
    assert not session.claim()
    session.close()
    assert list((tmp_path / f"piolet-{os.getuid()}").iterdir()) == []
