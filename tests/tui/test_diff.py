from __future__ import annotations

from piolet.tui.diff import diff_lines
from piolet.tui.spans import Line, Span, Style, line_text, line_width

CONTEXT, REMOVED, ADDED = Style("toolDiffContext"), Style("toolDiffRemoved"), Style("toolDiffAdded")
DIFF = "  9 keep\n-10 old = call(a)\n+10 new = call(a)\n 11 keep\n    ...\n-90 x\n-91 y\n+90 z"


def reversed_words(lines: list[Line]) -> list[str]:
    return [span.text for line in lines for span in line if span.style.reverse]


def test_signs_and_numbers_stand_before_coloured_text() -> None:
    lines = diff_lines(DIFF, 40)
    assert list(map(line_text, lines)) == DIFF.split("\n")
    assert lines[0] == (Span("  9 ", CONTEXT), Span("keep", CONTEXT))
    assert lines[4] == (Span("    ", CONTEXT), Span("...", CONTEXT))
    assert lines[5] == (Span("-90 ", REMOVED), Span("x", REMOVED))
    assert lines[7] == (Span("+90 ", ADDED), Span("z", ADDED))


def test_only_a_line_replaced_by_one_line_is_compared_by_words() -> None:
    assert reversed_words(diff_lines(DIFF, 40)) == ["old", "new"]


def test_the_indent_of_a_line_is_never_reversed() -> None:
    lines = diff_lines("-1   a\n+1       b", 40)
    assert reversed_words(lines) == ["a", "b"]
    assert line_text(lines[1]) == "+1       b"


def test_text_that_looks_like_a_sign_is_text() -> None:
    lines = diff_lines("-1 - item\n+1 + item", 40)
    assert reversed_words(lines) == ["-", "+"]


def test_tabs_are_three_blanks_and_escapes_are_gone() -> None:
    assert [line_text(line) for line in diff_lines("+1 \ta\x1b[2Jb", 40)] == ["+1    ab"]


def test_long_lines_hang_behind_their_number() -> None:
    assert [line_text(line) for line in diff_lines("+12 one two three", 12)] == ["+12 one two", "    three"]
    assert all(line_width(line) <= 3 for line in diff_lines(DIFF, 3))


def test_a_huge_line_is_not_compared() -> None:
    assert reversed_words(diff_lines(f"-1 {'a ' * 5000}\n+1 {'b ' * 5000}", 80)) == []
