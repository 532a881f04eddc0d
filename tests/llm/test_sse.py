"""Server-sent events are found wherever the network cuts the bytes."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from piolet.llm.sse import ServerEvent, SseSplitter


def split(*chunks: bytes) -> list[ServerEvent]:
    splitter = SseSplitter()
    events = [event for chunk in chunks for event in splitter.feed(chunk)]
    return [*events, *splitter.end()]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"data: a\n\n", [("", "a")]),
        (b"data:a\n\n", [("", "a")]),
        (b"data:  a \n\n", [("", " a ")]),
        (b"data: a\r\n\r\ndata: b\r\rdata: c\n\n", [("", "a"), ("", "b"), ("", "c")]),
        (b"event: x\ndata: a\n\ndata: b\n\n", [("x", "a"), ("", "b")]),
        (b"data: a\ndata: b\ndata\n\n", [("", "a\nb\n")]),
        (b": comment\n\n\n:\ndata: a\n: more\nid: 7\nretry: 5\nunknown\n\n", [("", "a")]),
        (b"event: lonely\n\ndata: a\n\n", [("", "a")]),
        (b"\xef\xbb\xbfdata: a\n\n", [("", "a")]),
        ("data: a\u2028b\u2029c\x85d\x0be\n\n".encode(), [("", "a\u2028b\u2029c\x85d\x0be")]),
        (b"data: a", [("", "a")]),
        (b"data: a\n\ndata: b\n", [("", "a"), ("", "b")]),
        (b"data: \xff\n\n", [("", "\ufffd")]),
        (b"", []),
        (b"<html>no events</html>", []),
    ],
)
def test_events_of_a_body(body: bytes, expected: list[tuple[str, str]]) -> None:
    assert split(body) == [ServerEvent(*event) for event in expected]


LINES = st.sampled_from(
    [
        b"data: a",
        b"data:\xf0\x9f\x98\x80",
        b"data",
        b"event: x",
        b": ping",
        b"",
        "data: \u2028é".encode(),
        b"id: 1",
        b"x",
    ]
)
BODIES = st.lists(st.tuples(LINES, st.sampled_from([b"\n", b"\r", b"\r\n"])), max_size=20)


@given(BODIES, st.lists(st.integers(0, 200), max_size=30), st.booleans())
def test_any_cutting_gives_the_same_events(
    lines: list[tuple[bytes, bytes]], cuts: list[int], last_line_open: bool
) -> None:
    body = b"".join(line + end for line, end in lines) + (b"data: z" if last_line_open else b"")
    places = sorted({min(cut, len(body)) for cut in cuts} | {0, len(body)})
    chunks = [body[start:stop] for start, stop in pairwise(places)]
    assert split(*chunks) == split(body)
    assert split(*(bytes([byte]) for byte in body)) == split(body)
