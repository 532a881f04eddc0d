"""Any tree, any damage: opening ends, what is whole stays reachable, and what is appended is found again."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from piolet.base.json import encode
from piolet.harness.session.context import build_context
from piolet.harness.session.errors import SessionError
from piolet.harness.session.session import Session
from piolet.harness.session.tree import walk
from piolet.harness.session.verify import repair, verify
from tests.harness.session.making import HEADER, entry, said, texts, user

IDS = st.sampled_from([f"e{number}" for number in range(12)])
PARENTS = st.one_of(st.none(), IDS, st.just("nowhere"))


@st.composite
def entries(draw: st.DrawFn) -> dict[str, Any]:
    id, parent = draw(IDS), draw(PARENTS)
    kind = draw(st.sampled_from(["user", "assistant", "compaction", "label", "edit", "custom", "summary", "unknown"]))
    match kind:
        case "user" | "assistant":
            return said(id, parent, draw(st.text(max_size=5)) or "x", kind)
        case "compaction":
            return entry("compaction", id, parent, summary="S", firstKeptEntryId=draw(IDS), tokensBefore=1)
        case "label":
            return entry("label", id, parent, targetId=draw(IDS), label=draw(st.sampled_from(["", "l", None])))
        case "edit":
            replacement = draw(st.sampled_from([None, {"content": "edited"}, {"content": 5}, 5]))
            return entry("context_edit", id, parent, targetId=draw(IDS), replacement=replacement)
        case "summary":
            return entry("branch_summary", id, parent, fromId="root", summary=draw(st.sampled_from(["", "B"])))
        case _:
            return entry(kind, id, parent, customType="x", data=draw(st.integers() | st.none()))


JUNK = st.one_of(
    st.sampled_from(
        [b"", b"42", b"null", b"[]", b'{"type":"note"}', b'{"type":"session"}', b"{} {}", b"\xff\xfe", b"\r"]
    ),
    st.binary(max_size=20).filter(lambda data: b"\n" not in data),
)
LINES = st.lists(st.one_of(entries().map(encode), JUNK), max_size=25)


@settings(max_examples=150, deadline=None)
@given(LINES, st.integers(0, 40), st.booleans())
def test_any_file_with_a_header_opens_and_goes_on(lines: list[bytes], cut: int, bom: bool) -> None:
    text = (b"\xef\xbb\xbf" if bom else b"") + b"".join(line + b"\n" for line in (encode(HEADER), *lines))
    text = text[: max(len(text) - cut, text.index(b"\n") + 1)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s.jsonl"
        path.write_bytes(text)
        verify(str(path))
        with Session.open(str(path), read_only=True) as session:
            known = [head.id for head in session.heads]
            assert sorted(node.id for node, _ in walk(session.tree())) == sorted(known)
            for leaf in {*known, None}:
                context = session.build_context(leaf)
                assert texts(context.messages) == texts(build_context(session.entries, leaf).messages)
            session.totals()
        assert path.read_bytes() == text
        with Session.open(str(path)) as session:
            new = session.append_message(user("next"))
            shown = texts(session.build_context().messages)
            assert shown[-1] == "next"
        assert path.read_bytes().startswith(text)
        with Session.open(str(path)) as session:
            assert [head.id for head in session.heads] == [*known, new]
            assert texts(session.build_context().messages) == shown
        with Session.open(repair(str(path))) as session:
            assert {problem.kind for problem in verify(session.path or "").problems} <= {"unreadable"}
            assert len(session.heads) >= len(known) + 1


@settings(max_examples=100, deadline=None)
@given(st.lists(JUNK, max_size=5))
def test_any_file_without_a_header_is_refused_or_empty_and_left_alone(lines: list[bytes]) -> None:
    text = b"".join(line + b"\n" for line in lines)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s.jsonl"
        path.write_bytes(text)
        verify(str(path))
        try:
            session = Session.open(str(path))
        except SessionError:
            assert path.read_bytes() == text
        else:
            assert text == b""
            session.close()


APPENDS = st.lists(st.sampled_from(["say", "answer", "branch", "reset", "label", "compact", "summary"]), max_size=30)


@settings(max_examples=60, deadline=None)
@given(APPENDS, st.randoms(use_true_random=False))
def test_file_and_memory_agree_after_any_steps(steps: list[str], randomly: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        session = Session.open(str(Path(folder) / "s.jsonl"))
        session.begin()
        for step in steps:
            ids = [head.id for head in session.heads]
            some = randomly.choice(ids) if ids else None
            match step:
                case "branch" if some:
                    session.branch(some)
                case "reset":
                    session.reset_leaf()
                case "label" if some:
                    session.append_label(some, randomly.choice(["x", "", None]))
                case "compact":
                    session.append_compaction("S", some, 1)
                case "summary":
                    session.branch_with_summary(some, "B")
                case _:
                    session.append_message(user(f"{step} {len(ids)}"))
        with Session.open(session.path or "", read_only=True) as again:
            assert again.entries == session.entries
            assert again.labels == session.labels
            for leaf in {head.id for head in session.heads}:
                assert again.build_context(leaf) == session.build_context(leaf)
        session.close()
