"""Long files with a compaction near the end: little of them is read for a question, and all is right that is asked."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from piolet.base.json import encode
from piolet.harness.session.errors import HistoryChanged
from piolet.harness.session.session import Session
from piolet.harness.session.tree import walk
from tests.harness.session.making import HEADER, entry, said, texts, user

Entries = list[dict[str, Any]]
KEPT = "m56"
LAST = "m60"


def long_session(path: Path, damage: Callable[[list[bytes]], None] = lambda lines: None) -> Path:
    """Write 5 MB: sixty messages, a compaction that keeps the last five, one more; a label, a name, a level."""
    entries: Entries = [
        entry("thinking_level_change", "level", None, thinkingLevel="high"),
        entry("session_info", "name", "level", name="Long"),
    ]
    for number in range(60):
        role = "assistant" if number % 2 else "user"
        text = f"m{number} " + "word " * 17_000
        entries.append(said(f"m{number}", entries[-1]["id"], text, role=role))
    entries.append(entry("label", "label", "m59", targetId="m3", label="here"))
    entries.append(entry("compaction", "c", "label", summary="S", firstKeptEntryId=KEPT, tokensBefore=9))
    entries.append(said(LAST, "c"))
    lines = [encode(value) for value in entries]
    damage(lines)
    path.write_bytes(b"".join(line + b"\n" for line in [encode(HEADER), *lines]))
    return path


def place_of(lines: list[bytes], id: str) -> int:
    return next(place for place, line in enumerate(lines) if b'"id":"%b"' % id.encode() in line)


def with_control_character(id: str) -> Callable[[list[bytes]], None]:
    """Return what makes the line of an entry no JSON in the middle of its text: its beginning and end look sound."""

    def damage(lines: list[bytes]) -> None:
        place = place_of(lines, id)
        lines[place] = lines[place].replace(b"word", b"\0\0\0\0", 1)

    return damage


def beginnings(messages: Any) -> list[str]:
    return [text.split(" ")[0] for text in texts(messages)]


def test_a_question_needs_no_look_at_what_was_compacted(tmp_path: Path) -> None:
    with Session.open(str(long_session(tmp_path / "s.jsonl", with_control_character("m20")))) as session:
        context = session.build_context()
        assert beginnings(context.messages) == ["S", "m56", "m57", "m58", "m59", LAST]
        assert (context.thinking_level, context.model) == ("high", ("p", "m"))
        assert (session.name, session.labels["m3"].text) == ("Long", "here")
        new = session.append_message(user("go on"))
        assert session.get_entry(new) is not None
        assert session.known_problems == []
        assert [problem.kind for problem in session.problems] == ["malformed"]
        assert [head.id for head in session.path_heads()][:2] == ["m21", "m22"]
        assert (session.totals().messages, session.totals().assistant_messages) == (61, 30)
        assert session.leaf_id == new
        assert beginnings(session.build_context().messages) == ["S", "m56", "m57", "m58", "m59", LAST, "go"]


@pytest.mark.parametrize("id", [KEPT, "m57", "m59"])
def test_damage_in_what_the_question_needs_is_met_and_reported(tmp_path: Path, id: str) -> None:
    path = long_session(tmp_path / "s.jsonl", with_control_character(id))
    with Session.open(str(path)) as session, Session.open(str(path)) as checked:
        assert len(checked.problems) == 1
        assert session.build_context() == checked.build_context()
        assert session.known_problems == checked.problems


def test_a_damaged_last_line_is_not_the_leaf(tmp_path: Path) -> None:
    def damage(lines: list[bytes]) -> None:
        lines[-1] = lines[-1].replace(b'"text":"', b'"text":"\1')

    with Session.open(str(long_session(tmp_path / "s.jsonl", damage))) as session:
        assert session.leaf_id == "c"
        assert [problem.kind for problem in session.known_problems] == ["malformed"]


def test_a_torn_last_line_is_ended_and_reported_as_torn(tmp_path: Path) -> None:
    path = long_session(tmp_path / "s.jsonl")
    path.write_bytes(path.read_bytes()[:-20])
    with Session.open(str(path)) as session:
        assert [problem.kind for problem in session.known_problems] == ["torn"]
        new = session.append_message(user())
        assert session.path_heads()[-2].id == "c"
    assert [head.id for head in Session.open(str(path)).heads][-1] == new


def test_entries_of_others_are_taken_in(tmp_path: Path) -> None:
    path = long_session(tmp_path / "s.jsonl")
    with Session.open(str(path)) as session, Session.open(str(path)) as other:
        theirs = other.append_message(user("theirs"))
        mine = session.append_message(user("mine"))
        assert [head.id for head in session.heads][-2:] == [theirs, mine]
        assert session.problems == []


def test_what_is_not_read_yet_is_read_from_a_deleted_file_and_never_from_another(tmp_path: Path) -> None:
    path = long_session(tmp_path / "s.jsonl")
    with Session.open(str(path)) as session:
        path.unlink()
        assert len(session.heads) == 65
    long_session(path)
    with Session.open(str(path)) as session:
        session.close()
        path.rename(tmp_path / "old.jsonl")
        long_session(path)
        with pytest.raises(HistoryChanged, match="another file stands in its place"):
            session.totals()


def test_a_file_that_was_rewritten_in_place_is_never_taken_for_the_old_one(tmp_path: Path) -> None:
    path = long_session(tmp_path / "s.jsonl")
    with Session.open(str(path)) as session:
        path.write_bytes(encode(HEADER) + b"\n" + encode(said("other", None)) + b"\n")
        with pytest.raises(HistoryChanged, match=r"is not in .* any more"):
            session.build_context()
    with Session.open(str(long_session(path))) as session:
        path.write_bytes(encode(HEADER | {"id": "s2"}) + b"\n")
        with pytest.raises(HistoryChanged, match="changed by another program"):
            session.build_context()


@pytest.mark.parametrize("seed", range(12))
def test_whatever_is_damaged_the_first_question_gets_what_a_full_reading_gives(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)

    def damage(lines: list[bytes]) -> None:
        for _ in range(rng.randrange(1, 4)):
            place = rng.randrange(len(lines))
            line = lines[place]
            middle = rng.randrange(len(line))
            lines[place] = rng.choice(
                [
                    lambda line=line, at=middle: line[:at] + bytes([rng.randrange(256)]) + line[at + 1 :],
                    lambda line=line, at=middle: line[:at] + line,  # torn, and another line glued to it
                    lambda line=line, at=middle: line[:at],
                    lambda: b"42",
                    lambda line=line: line.replace(b'"id":"m', b'"id":"x', 1),
                    lambda line=line: line.replace(b'"parentId":"m', b'"parentId":"m1', 1),
                    lambda: lines[rng.randrange(len(lines))],
                ]
            )()

    path = long_session(tmp_path / "s.jsonl", damage)
    with Session.open(str(path), read_only=True) as session, Session.open(str(path), read_only=True) as checked:
        checked.totals()
        context, expected = session.build_context(), checked.build_context()
        assert session.leaf_id == checked.leaf_id
        assert [entry.id for entry in context.entries] == [entry.id for entry in expected.entries]
        assert context.messages == expected.messages
        assert (context.kept, context.settled) == (expected.kept, expected.settled)
        assert (session.name, dict(session.labels)) == (checked.name, dict(checked.labels))
        assert list(session.problems) == list(checked.problems)
        assert list(session.heads) == list(checked.heads)
        assert session.totals() == checked.totals()
        shapes = [[(node.id, depth) for node, depth in walk(one.tree())] for one in (session, checked)]
        assert shapes[0] == shapes[1]
