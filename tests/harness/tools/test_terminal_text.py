"""What programs write for terminals becomes plain text."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from piolet.harness.tools.terminal_text import TerminalText, plain_text


@pytest.mark.parametrize(
    ("raw", "plain"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b[38;5;12;1mx\x1b[m", "x"),
        ("\x1b[?25l\x1b[2J\x1b[1;1Hx", "x"),
        ("a\x1b]52;c;QUJD\x07b", "ab"),
        ("a\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\b", "alinkb"),
        ("\x1bPq#0;2\x1b\\x\x1b_Gf=1;AA\x1b\\y\x1b^z\x1b\\", "xy"),
        ("\x9b31mx\x9d0;title\x9cy", "xy"),
        ("\x1b(Bx\x1b=\x1b7\x1bc", "x"),
        ("a\r\nb\rc", "a\nbc"),
        ("tab\there\x08\x07\x00\x7f", "tab\there"),
        ("\x1b]0;never ended\nnext line", "0;never ended\nnext line"),
        ("é日\U0001f600", "é日\U0001f600"),
        ("\x1b", ""),
        ("\x1b[31", "31"),
    ],
)
def test_sequences_and_controls_are_removed(raw: str, plain: str) -> None:
    assert plain_text(raw).removeprefix("[").removeprefix("]") == plain
    stream = TerminalText()
    whole = stream.feed(raw.encode()) + stream.finish()
    assert whole.removeprefix("[").removeprefix("]") == plain


pieces = st.sampled_from(
    [
        "a",
        "é",
        "日",
        "\n",
        "\r\n",
        "\t",
        "\x1b[31m",
        "\x1b[0m",
        "\x1b]0;t\x07",
        "\x1b]8;;u\x1b\\",
        "\x1bM",
        "\x1b",
        "\x07",
        "[",
        "m",
    ]
)


@given(st.lists(pieces, max_size=20), st.lists(st.integers(0, 60), max_size=10))
def test_it_does_not_matter_where_the_chunks_end(parts: list[str], cuts: list[int]) -> None:
    data = "".join(parts).encode()
    whole, chunked = TerminalText(), TerminalText()
    expected = whole.feed(data) + whole.finish()
    places = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    got = "".join(chunked.feed(data[start:end]) for start, end in pairwise(places))
    assert got + chunked.finish() == expected


@given(st.binary(max_size=200))
def test_nothing_that_a_terminal_obeys_gets_through(data: bytes) -> None:
    stream = TerminalText()
    text = stream.feed(data) + stream.finish()
    assert all(character in "\t\n" or (character >= " " and not "\x7f" <= character <= "\x9f") for character in text)


def test_bad_bytes_become_replacement_marks() -> None:
    stream = TerminalText()
    assert stream.feed(b"a\xffb\xe6") + stream.finish() == "a\ufffdb\ufffd"


def test_a_sequence_without_end_does_not_hold_the_text_back_for_ever() -> None:
    stream = TerminalText()
    assert len(stream.feed(b"\x1b]0;" + b"x" * 10_000)) > 9_000
