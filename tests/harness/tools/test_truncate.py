"""Limits on text (tools specification, section 9)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from piolet.harness.tools.truncate import TailBuffer, Truncation, format_size, truncate_head, truncate_tail

texts = st.text(alphabet="a\né\U0001f600日", max_size=60)
limits = st.tuples(st.integers(1, 8), st.integers(1, 40))


def lines_of(text: str) -> list[str]:
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def check(cut: Truncation, text: str, max_lines: int, max_bytes: int) -> None:
    """What holds for both ends."""
    lines = lines_of(text)
    assert (cut.total_lines, cut.total_bytes) == (len(lines), len(text.encode()))
    if len(lines) <= max_lines and len(text.encode()) <= max_bytes:
        assert (cut.content, cut.truncated, cut.truncated_by) == (text, False, None)
        return
    assert cut.truncated
    assert len(cut.content.encode()) <= max_bytes
    assert cut.output_bytes == len(cut.content.encode())
    assert cut.output_lines <= max_lines
    assert (cut.max_lines, cut.max_bytes) == (max_lines, max_bytes)


@given(texts, limits)
def test_the_head_is_whole_lines_within_both_limits(text: str, limit: tuple[int, int]) -> None:
    cut = truncate_head(text, *limit)
    check(cut, text, *limit)
    if not cut.truncated:
        return
    lines = lines_of(text)
    assert cut.content == "\n".join(lines[: cut.output_lines])
    assert cut.first_line_exceeds_limit == (len(lines[0].encode()) > limit[1])
    if cut.output_lines < min(len(lines), limit[0]):  # one more line would not fit
        assert len("\n".join(lines[: cut.output_lines + 1]).encode()) > limit[1]
        assert cut.truncated_by == "bytes"
    else:
        assert cut.truncated_by == "lines"


@given(texts, limits)
def test_the_tail_is_whole_lines_or_the_end_of_the_last_one(text: str, limit: tuple[int, int]) -> None:
    cut = truncate_tail(text, *limit)
    check(cut, text, *limit)
    if not cut.truncated:
        return
    lines = lines_of(text)
    if cut.last_line_partial:
        assert lines[-1].endswith(cut.content)
        assert len(lines[-1].encode()) > limit[1]
        assert len(cut.content.encode()) > limit[1] - 4  # not less than a character below the limit
        assert cut.truncated_by == "bytes"
        return
    assert cut.content == "\n".join(lines[len(lines) - cut.output_lines :])
    if cut.output_lines < min(len(lines), limit[0]):
        assert len("\n".join(lines[-cut.output_lines - 1 :]).encode()) > limit[1]
        assert cut.truncated_by == "bytes"
    else:
        assert cut.truncated_by == "lines"


@given(st.lists(texts, max_size=12), limits)
def test_a_stream_ends_up_as_the_whole_text_would(pieces: list[str], limit: tuple[int, int]) -> None:
    buffer = TailBuffer(*limit)
    for piece in pieces:
        buffer.append(piece)
        buffer.truncation()
    text = "".join(pieces)
    assert buffer.truncation() == truncate_tail(text, *limit)
    assert buffer.last_line_bytes == len(lines_of(text)[-1].encode() if lines_of(text) else b"")


def test_a_stream_of_any_length_takes_little_memory() -> None:
    buffer = TailBuffer()
    for number in range(200_000):
        buffer.append(f"line {number}\n")
    assert len(buffer._tail) < 300_000
    cut = buffer.truncation()
    assert (cut.total_lines, cut.output_lines) == (200_000, 2000)
    assert cut.content.endswith("\nline 199999")


@pytest.mark.parametrize(
    ("text", "by"),
    [("x" * 51_200, None), ("x" * 51_200 + "\n", "lines"), ("x\n" * 2000, None), ("x\n" * 2001, "lines")],
)
def test_the_limits_are_2000_lines_and_51200_bytes(text: str, by: str | None) -> None:
    assert truncate_head(text).truncated_by == by
    assert truncate_tail(text).truncated_by == by


def test_sizes_are_shown_short() -> None:
    assert [format_size(size) for size in (0, 999, 1023, 1024, 51_200, 1_572_864)] == [
        "0B",
        "999B",
        "1023B",
        "1.0KB",
        "50.0KB",
        "1.5MB",
    ]
