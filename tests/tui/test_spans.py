from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from piolet.tui import spans
from piolet.tui.spans import (
    PLAIN,
    Line,
    Span,
    Style,
    clip,
    columns,
    line_text,
    line_width,
    overlay,
    pad,
    part,
    row,
    wrap,
)

RED, BOLD = Style(fg="error"), Style(bold=True)
lines = st.lists(
    st.builds(Span, st.text(st.sampled_from("ab 中é😀"), min_size=1, max_size=9), st.sampled_from([PLAIN, RED, BOLD])),
    max_size=5,
).map(tuple)


def test_a_style_over_another_keeps_its_own_colours_and_adds_attributes() -> None:
    base = Style("text", "userMessageBg", italic=True, link="x")
    assert Style("accent", bold=True).over(base) == Style("accent", "userMessageBg", bold=True, italic=True, link="x")
    assert PLAIN.over(base) == base


@given(lines, st.integers(0, 20), st.integers(0, 20))
def test_a_part_is_the_slice_of_the_text_with_its_styles(line: Line, start: int, end: int) -> None:
    assert line_text(part(line, start, end)) == line_text(line)[start:end]
    styles = [style for text, style in line for _ in text][start:end]
    assert [style for text, style in part(line, start, end) for _ in text] == styles


@given(lines, st.integers(1, 12))
def test_a_clipped_line_fits(line: Line, limit: int) -> None:
    assert line_width(clip(line, limit)) <= limit
    if line_width(line) <= limit:
        assert clip(line, limit) == line


def test_the_ellipsis_has_the_style_of_what_it_replaces() -> None:
    assert clip((Span("abc", RED), Span("def", BOLD)), 4) == (Span("abc", RED), Span("…", RED))


@given(lines, st.integers(2, 12))
def test_wrapped_rows_fit_and_lose_blanks_only(line: Line, limit: int) -> None:
    rows = wrap(line, limit)
    assert all(line_width(r) <= limit for r in rows)
    assert "".join(map(line_text, rows)).replace(" ", "") == line_text(line).replace(" ", "")


def test_wrapping_keeps_styles_across_rows() -> None:
    line = (Span("one "), Span("two three", RED))
    assert wrap(line, 7) == [(Span("one "), Span("two", RED)), (Span("three", RED),)]


def test_padding_fills_to_the_width() -> None:
    assert pad(row("中"), 4, BOLD) == (Span("中"), Span("  ", BOLD))
    assert pad(row("abc"), 2) == row("abc")


def test_columns_keep_the_right_side_whole() -> None:
    assert line_text(columns(row("left"), row("right"), 12)) == "left   right"
    assert line_text(columns(row("a long left"), row("right"), 12)) == "a lo…  right"
    assert line_text(columns(row("left"), row("right"), 4)) == "rig…"
    assert line_text(columns(row("left"), (), 12)) == "left"


def test_restyling_a_line_reaches_every_span() -> None:
    assert spans.over((Span("a", RED), Span("b")), BOLD) == (Span("a", Style("error", bold=True)), Span("b", BOLD))


def test_an_overlay_takes_its_cells_and_leaves_the_others() -> None:
    top = row("XY", RED)
    assert overlay(row("abcdef"), 2, top, 8) == (Span("ab"), Span("XY", RED), Span("ef"), Span("  "))
    assert line_text(overlay(row("a中b中c"), 2, top, 8)) == "a XY中c "


@given(lines, st.integers(0, 6))
def test_an_overlaid_line_keeps_its_width(line: Line, column: int) -> None:
    result = overlay(clip(line, 12), column, row("XY"), 12)
    assert line_width(result) == 12
    assert "XY" in line_text(result)
