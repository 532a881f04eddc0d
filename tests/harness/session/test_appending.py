"""What appending does: leaf, file, its lateness, and what is refused."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from piolet.base.json import loads
from piolet.harness.messages import BranchSummaryMessage, CustomMessage
from piolet.harness.session.entries import CustomMessageEntry, Replacement
from piolet.harness.session.errors import InvalidEntry, InvalidSessionId, NewerVersion, SessionError, UnknownEntry
from piolet.harness.session.session import Session
from tests.harness.session.making import HEADER, answer, said, user, write


def lines(session: Session) -> list[dict[str, object]]:
    assert session.path is not None
    return [loads(line) for line in Path(session.path).read_bytes().split(b"\n") if line]


def test_no_file_before_the_model_answers(tmp_path: Path) -> None:
    session = Session.create("/home/dev", str(tmp_path / "new"))
    session.append_model_change("stub", "m1")
    session.append_message(user())
    session.append_message(answer("", stop="error"))
    session.append_message(answer("", stop="aborted"))
    assert not session.saved
    assert list((tmp_path / "new").iterdir()) == []


def test_the_first_answer_makes_the_file_with_all_before_it(tmp_path: Path) -> None:
    session = Session.create("/home/dev", str(tmp_path))
    session.append_message(user("first"))
    session.append_message(answer("", stop="error"))
    session.append_message(answer("partly", stop="aborted"))
    assert [line["type"] for line in lines(session)] == ["session", "message", "message", "message"]
    session.append_session_info("named")
    assert lines(session)[-1]["name"] == "named"


def test_begin_saves_the_question_while_the_answer_streams(tmp_path: Path) -> None:
    session = Session.create("/home/dev", str(tmp_path))
    question = session.append_message(user("first"))
    session.begin()
    session.begin()
    assert [line["id"] for line in lines(session)] == [session.id, question]
    with Session.open(session.path or "") as other:
        assert other.leaf_id == question


def test_files_and_folders_are_private(tmp_path: Path) -> None:
    session = Session.create("/home/dev", str(tmp_path / "a" / "b"))
    session.begin()
    assert os.stat(session.path or "").st_mode & 0o777 == 0o600
    assert [os.stat(tmp_path / part).st_mode & 0o777 for part in ("a", "a/b")] == [0o700, 0o700]


def test_a_file_that_stands_in_the_way_is_not_touched(tmp_path: Path) -> None:
    session = Session.open(str(tmp_path / "s.jsonl"))
    session.append_message(user())
    (tmp_path / "s.jsonl").write_text("mine")
    with pytest.raises(SessionError, match="exists already"):
        session.append_message(answer())
    assert (tmp_path / "s.jsonl").read_text() == "mine"
    assert len(session.heads) == 1
    (tmp_path / "s.jsonl").unlink()
    session.append_message(answer())
    assert len(lines(session)) == 3


def test_opening_a_missing_file_uses_exactly_that_path(tmp_path: Path) -> None:
    session = Session.open(str(tmp_path / "mine.jsonl"), "/home/dev")
    assert (session.path, session.cwd, session.saved) == (str(tmp_path / "mine.jsonl"), "/home/dev", False)
    session.append_message(answer())
    assert lines(session)[0]["cwd"] == "/home/dev"


def test_an_empty_file_gets_a_header_at_once(tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").touch()
    session = Session.open(str(tmp_path / "s.jsonl"))
    assert [line["type"] for line in lines(session)] == ["session"]
    session.append_message(user())
    assert len(lines(session)) == 2


def test_every_append_is_a_child_of_the_leaf_and_becomes_it() -> None:
    session = Session.in_memory("/home/dev")
    first = session.append_message(user("a"))
    second = session.append_message(answer("b"))
    session.branch(first)
    third = session.append_message(answer("c"))
    session.reset_leaf()
    fourth = session.append_message(user("d"))
    assert [(head.id, head.parent_id) for head in session.heads] == [
        (first, None),
        (second, first),
        (third, first),
        (fourth, None),
    ]
    assert session.leaf_id == fourth


def test_a_custom_message_is_stored_as_its_own_entry_type() -> None:
    session = Session.in_memory("/home/dev")
    id = session.append_message(CustomMessage("note", "text", False, 1, {"a": 1}))
    entry = session.get_entry(id)
    assert isinstance(entry, CustomMessageEntry)
    assert (entry.custom_type, entry.content, entry.display, entry.details) == ("note", "text", False, {"a": 1})


def test_summaries_are_never_stored_as_messages() -> None:
    session = Session.in_memory("/home/dev")
    with pytest.raises(InvalidEntry):
        session.append_message(BranchSummaryMessage("s", "root", 1))
    assert session.entries == []


def test_a_summary_of_the_left_branch_names_the_leaf_that_was_left() -> None:
    session = Session.in_memory("/home/dev")
    first = session.append_message(user())
    second = session.append_message(answer())
    session.branch_with_summary(first, "went elsewhere")
    entry = session.path_to()[-1]
    assert (entry.parent_id, getattr(entry, "from_id", None)) == (first, second)
    session.reset_leaf()
    session.branch_with_summary(None, "from nothing")
    assert (session.path_to()[-1].parent_id, getattr(session.path_to()[-1], "from_id", None)) == (None, "root")


def test_only_messages_of_the_current_branch_can_be_edited() -> None:
    session = Session.in_memory("/home/dev")
    first = session.append_message(user("a"))
    other = session.append_message(answer("b"))
    session.branch(first)
    state = session.append_custom("x", {"a": 1})
    for target in (other, state):
        with pytest.raises(InvalidEntry):
            session.append_context_edit(target, None)
    with pytest.raises(UnknownEntry):
        session.append_context_edit("ffffffff", None)
    session.append_context_edit(first, Replacement("short"))
    assert session.leaf_id not in (first, other, state)


def test_labels_need_a_target_and_names_are_one_line() -> None:
    session = Session.in_memory("/home/dev")
    first = session.append_message(user())
    with pytest.raises(UnknownEntry):
        session.append_label("ffffffff", "x")
    session.append_label(first, "kept")
    assert session.labels[first].text == "kept"
    session.append_label(first, None)
    assert session.labels == {}
    session.append_session_info(" a\r\n\nb ")
    assert session.name == "a b"
    session.append_session_info(None)
    assert session.name is None


@pytest.mark.parametrize("id", ["", "-a", "a-", "a/b", "a b", "a\n", "é", ".."])
def test_an_id_that_does_not_fit_a_file_name_is_refused(tmp_path: Path, id: str) -> None:
    with pytest.raises(InvalidSessionId):
        Session.create("/home/dev", str(tmp_path), id)


def test_a_newer_version_is_read_and_never_written(tmp_path: Path) -> None:
    path = write(tmp_path / "s.jsonl", said("u1", None), header=HEADER | {"version": 4})
    path.write_bytes(path.read_bytes() + b'{"torn')
    before = path.read_bytes()
    session = Session.open(str(path))
    assert [head.id for head in session.heads] == ["u1"]
    with pytest.raises(NewerVersion):
        session.append_message(user())
    session.close()
    assert path.read_bytes() == before


def test_a_session_opened_for_reading_changes_no_byte(tmp_path: Path) -> None:
    path = write(tmp_path / "s.jsonl", said("u1", None))
    path.write_bytes(path.read_bytes() + b'{"torn')
    before = path.read_bytes()
    with Session.open(str(path), read_only=True) as session:
        assert [problem.kind for problem in session.problems] == ["torn"]
        with pytest.raises(SessionError, match="reading only"):
            session.append_message(user())
    assert path.read_bytes() == before


def test_ids_are_drawn_again_while_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    session = Session.in_memory("/home/dev")
    first = session.append_message(user())
    drawn = iter([bytes.fromhex(first)] * 3 + [b"\1\2\3\4"])
    monkeypatch.setattr(os, "urandom", lambda size: next(drawn))
    assert session.append_message(user()) == "01020304"


def test_a_cwd_override_is_not_stored(tmp_path: Path) -> None:
    path = write(tmp_path / "s.jsonl", said("u1", None))
    before = path.read_bytes()
    with Session.open(str(path), "/home/other") as session:
        assert (session.cwd, session.header.cwd) == ("/home/other", "/home/dev/proj")
    assert path.read_bytes() == before
