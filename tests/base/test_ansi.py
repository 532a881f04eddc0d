from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from piolet.base.ansi import strip_escapes


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("plain\ttext\n", "plain\ttext\n"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b[38;2;1;2;3mx\x1b[m", "x"),
        ("\x1b[?25lx", "x"),
        ("a\x1b]0;title\x07b", "ab"),
        ("a\x1b]52;c;QUJD\x07b", "ab"),
        ("\x1b]8;;https://x.example\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("a\x9b31mb", "ab"),
        ("a\x9d0;t\x9cb", "ab"),
        ("a\x1bP1;2qsixel\n\x1b\\b", "ab"),
        ("a\x1b_Gf=100;AAAA\x1b\\b", "ab"),
        ("a\x1b(Bb\x1b=c\x1b7d", "abcd"),
        ("a\r\nb\rc", "a\nbc"),
        ("a\x00\x08\x7fb\x85c", "abc"),
        ("é中😀\u202e", "é中😀\u202e"),
    ],
)
def test_sequences_and_controls_go_and_text_stays(text: str, plain: str) -> None:
    assert strip_escapes(text) == plain


def test_a_sequence_that_the_end_cuts_off_goes() -> None:
    assert [strip_escapes(t) for t in ("a\x1b", "a\x1b[", "a\x1b[31", "a\x1b]0;ti")] == ["a"] * 4


def test_a_string_without_end_does_not_swallow_the_lines_behind_it() -> None:
    assert strip_escapes("a\x1b]0;pwn\nb") == "a0;pwn\nb"
    assert strip_escapes("a\x1bPq1\nb") == "aq1\nb"


@given(st.text(alphabet=st.sampled_from("\x1b[]PX^_\\m;0\x07\x9b\x9c\x9d\x90\r\n\t a"), max_size=40))
def test_nothing_that_drives_a_terminal_is_left(text: str) -> None:
    plain = strip_escapes(text)
    assert not any((c < " " and c not in "\t\n") or "\x7f" <= c <= "\x9f" for c in plain)
    assert strip_escapes(plain) == plain


@pytest.mark.parametrize("unit", ["\x1b[", "\x1b]", "\x1bP", "\x90", "\x9d", "\x1b[1", "\x1b ", "\x1b]a\x1b"])
def test_hostile_repetition_costs_linear_time(unit: str) -> None:
    start = time.process_time()
    strip_escapes(unit * 200_000)
    assert time.process_time() - start < 2
