"""Tree and context: damaged trees stay reachable, deep ones cost no recursion."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from piolet.base.json import encode
from piolet.harness.messages import CompactionSummaryMessage, SystemMessage
from piolet.harness.session.context import build_context
from piolet.harness.session.copying import branched_session, export_jsonl
from piolet.harness.session.errors import HistoryChanged
from piolet.harness.session.session import Session
from piolet.harness.session.tree import TreeNode, walk
from piolet.harness.session.verify import verify
from tests.harness.session.making import HEADER, entry, said, texts, write


def opened(path: Path) -> Session:
    return Session.open(str(path))


def shape(roots: list[TreeNode]) -> list[tuple[str, int]]:
    return [(node.id, depth) for node, depth in walk(roots)]


def test_every_entry_of_a_cycle_is_in_the_tree(tmp_path: Path) -> None:
    path = write(tmp_path / "s.jsonl", said("x", "a"), said("a", "b"), said("b", "c"), said("c", "a"), said("y", "y"))
    with opened(path) as session:
        assert shape(session.tree()) == [("a", 0), ("x", 1), ("c", 1), ("b", 2), ("y", 0)]
        assert [head.id for head in session.path_heads("x")] == ["c", "b", "a", "x"]
        assert texts(session.build_context("y").messages) == ["y"]


def test_siblings_stand_in_the_order_of_their_times(tmp_path: Path) -> None:
    late = said("late", "r") | {"timestamp": "2026-01-01T00:00:09.000Z"}
    none = {key: value for key, value in said("none", "r").items() if key != "timestamp"}
    early = said("early", "r") | {"timestamp": "2025-01-01T00:00:00.000Z"}
    with opened(write(tmp_path / "s.jsonl", said("r", None), late, none, early)) as session:
        assert [node.id for node in session.tree()[0].children] == ["early", "late", "none"]


def test_both_of_two_entries_with_one_id_are_in_the_tree(tmp_path: Path) -> None:
    path = write(tmp_path / "s.jsonl", said("a", None, "old"), said("a", None, "new"), said("b", "a"))
    with opened(path) as session:
        assert shape(session.tree()) == [("a", 0), ("a", 0), ("b", 1)]
        assert texts(entry.message for entry in session.entries) == ["old", "new", "b"]  # type: ignore[union-attr]
        assert texts(session.build_context().messages) == ["new", "b"]


def test_chains_of_a_hundred_thousand_entries_need_no_recursion(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    count = 100_000
    with path.open("wb") as file:
        file.write(encode(HEADER) + b"\n")
        for number in range(count):
            file.write(encode(said(f"e{number}", f"e{number - 1}" if number else None)) + b"\n")
    start = time.thread_time()
    with opened(path) as session:
        assert len(session.build_context().messages) == count
        assert sum(1 for _ in walk(session.tree())) == count
        copy = branched_session(session, "e99999")
        assert len(copy.heads) == count
        export_jsonl(session, str(tmp_path / "out.jsonl"))
    assert verify(str(path)).problems == []
    assert time.thread_time() - start < 60


def test_a_long_context_is_decoded_when_it_is_read_and_is_the_same(tmp_path: Path) -> None:
    count = 1500
    system = {"role": "system", "content": "replayed", "timestamp": 1}
    lines = [said("u0", None)]
    for number in range(1, count):
        id, parent = f"u{number}", f"u{number - 1}"
        if number == 40:
            lines.append(entry("compaction", id, parent, summary="S", firstKeptEntryId="u3", tokensBefore=9))
            lines[-1]["systemMessage"] = system
        elif number == 20:
            lines.append(entry("compaction", id, parent, summary="older", firstKeptEntryId="u2", tokensBefore=9))
        elif number % 500 == 0:
            lines.append(entry("context_edit", id, parent, targetId=f"u{number - 1}", replacement=None))
        elif number % 300 == 0:
            edit = {"content": f"edited {number}"}
            lines.append(entry("context_edit", id, parent, targetId=f"u{number - 7}", replacement=edit))
        else:
            lines.append(said(id, parent, role="assistant" if number % 2 else "user"))
    path = write(tmp_path / "s.jsonl", *lines)
    with opened(path) as session:
        lazy, eager = session.build_context(), build_context(session.entries)
        assert (lazy.kept, lazy.settled, len(lazy.messages)) == (eager.kept, eager.settled, len(eager.messages))
        assert lazy.kept == 2 + 36
        assert texts([lazy.messages[place] for place in (0, 1, 2, -1)]) == ["replayed", "S", "u3", "u1499"]
        assert lazy == eager
        assert "edited 300" in texts(lazy.messages)
        assert [entry.id for entry in lazy.entries] == ["u40", *(f"u{n}" for n in range(3, count) if n != 40)]


def test_a_long_context_never_takes_its_messages_from_another_file(tmp_path: Path) -> None:
    lines = [said(f"u{number}", f"u{number - 1}" if number else None) for number in range(1200)]
    path = write(tmp_path / "s.jsonl", *lines)
    with opened(path) as session:
        context = session.build_context()
        other = write(tmp_path / "other.jsonl", *(said(f"v{number}", None) for number in range(3)), *lines)
        other.replace(path)
        session.append_custom("x")
        with pytest.raises(HistoryChanged, match="another file stands in its place"):
            list(context.messages)
        again = session.build_context()
        write(path, *lines[600:], *lines[:600])
        with pytest.raises(HistoryChanged, match="changed by another program"):
            list(again.messages)


def test_a_system_message_in_the_kept_range_gives_way_to_that_of_the_compaction(tmp_path: Path) -> None:
    def system(text: str) -> dict[str, object]:
        return {"role": "system", "content": text, "timestamp": 1}

    path = write(
        tmp_path / "s.jsonl",
        entry("message", "s1", None, message=system("first")),
        said("u1", "s1"),
        entry("message", "s2", "u1", message=system("second")),
        said("u2", "s2"),
        entry("compaction", "c", "u2", summary="S", firstKeptEntryId="u1", tokensBefore=9)
        | {"systemMessage": system("replayed")},
        entry("message", "s3", "c", message=system("third")),
    )
    with opened(path) as session:
        context = session.build_context()
    assert [entry.id for entry in context.entries] == ["c", "u1", "u2", "s3"]
    assert texts(context.messages) == ["replayed", "S", "u1", "u2", "third"]
    assert isinstance(context.messages[0], SystemMessage)
    assert isinstance(context.messages[1], CompactionSummaryMessage)


def test_an_edit_of_a_branch_does_not_act_on_another(tmp_path: Path) -> None:
    path = write(
        tmp_path / "s.jsonl",
        said("u1", None),
        entry("context_edit", "e1", "u1", targetId="u1", replacement=None),
        said("u2", "u1"),
        entry("context_edit", "e2", "u2", targetId="u1", replacement={"content": 5}),
        entry("context_edit", "e3", "e2", targetId="u1"),
    )
    with opened(path) as session:
        assert texts(session.build_context("e1").messages) == []
        assert texts(session.build_context().messages) == ["u1", "u2"]


def test_an_unknown_leaf_is_the_last_entry_and_none_is_nothing(tmp_path: Path) -> None:
    with opened(write(tmp_path / "s.jsonl", said("u1", None), said("u2", "u1"))) as session:
        for context in (session.build_context("unknown"), build_context(session.entries, "unknown")):
            assert texts(context.messages) == ["u1", "u2"]
        for context in (session.build_context(None), build_context(session.entries, None), build_context([])):
            assert (context.messages, context.entries) == ([], [])
        session.reset_leaf()
        assert session.build_context().messages == []


def test_totals_count_all_branches_and_no_part_twice(tmp_path: Path) -> None:
    usage = {"input": 1, "output": 2, "cacheRead": 3, "cacheWrite": 4, "totalTokens": 10, "reasoning": 2}
    usage |= {
        "cacheWrite1h": 4,
        "cost": dict.fromkeys(("input", "output", "cacheRead", "cacheWrite"), 0) | {"total": 0.5},
    }
    calls = [{"type": "toolCall", "id": str(number), "name": "n", "arguments": {}} for number in range(2)]
    reply = {"role": "assistant", "content": calls, "usage": usage, "provider": "p", "model": "m", "timestamp": 1}
    path = write(
        tmp_path / "s.jsonl",
        said("u1", None),
        entry("message", "a1", "u1", message=reply | {"api": "a", "stopReason": "toolUse"}),
        entry("message", "a2", "u1", message=reply),
        entry("message", "r1", "a2", message={"role": "toolResult", "toolCallId": "0", "usage": usage}),
        entry("compaction", "c", "r1", summary="", tokensBefore=1, usage=usage),
        entry("branch_summary", "b", "c", summary="", fromId="root", usage=usage),
        entry("usage", "w", "b", provider="p", model="m", usage=usage) | {"kind": "cache_warm"},
        entry("custom", "x", "w", customType="x", usage=usage),
    )
    with opened(path) as session:
        totals = session.totals()
        assert (totals.messages, totals.user_messages, totals.assistant_messages) == (4, 1, 2)
        assert (totals.tool_results, totals.tool_calls) == (1, 4)
        assert (totals.input, totals.output, totals.cache_read, totals.cache_write) == (6, 12, 18, 24)
        assert (totals.tokens, totals.cost) == (60, 3.0)
        session.append_usage("cache_warm", "p", "m", session.entries[1].message.usage)  # type: ignore[union-attr]
        assert (totals.tokens, session.totals().tokens) == (60, 70)
