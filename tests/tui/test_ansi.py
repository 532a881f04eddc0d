from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from piolet.tui import ansi
from piolet.tui.ansi import AnsiWriter, parse, sgr
from piolet.tui.spans import Span, Style, row

LINK = "\x1b]8;;https://x.example\x07link\x1b]8;;\x07"


def test_tokens_become_the_colours_of_the_palette() -> None:
    writer = AnsiWriter({"error": "#ff8000", "userMessageBg": 17, "text": ""})
    assert writer.line(row("a", Style("error"))) == "\x1b[38;2;255;128;0ma\x1b[0m"
    assert writer.line(row("a", Style("text", "userMessageBg", bold=True))) == "\x1b[1;39;48;5;17ma\x1b[0m"
    assert writer.line((Span("a"), Span("b", Style(underline=True)))) == "a\x1b[4mb\x1b[0m"


def test_without_a_palette_only_attributes_are_left() -> None:
    assert AnsiWriter({}).line(row("a", Style("error", "userMessageBg", italic=True))) == "\x1b[3ma\x1b[0m"


def test_links_are_written_only_where_the_terminal_has_them() -> None:
    line = row("t", Style(link="https://x.example/\x1b]0;a\x07"))
    assert AnsiWriter({}).line(line) == "\x1b]8;;https://x.example/\x1b\\t\x1b]8;;\x1b\\"
    assert AnsiWriter({}, links=False).line(line) == "t"


@pytest.mark.parametrize(
    ("color", "fg", "bg"),
    [
        (1, "31", "41"),
        (9, "91", "101"),
        (200, "38;5;200", "48;5;200"),
        ("#010203", "38;2;1;2;3", "48;2;1;2;3"),
        ("", "39", "49"),
    ],
)
def test_colours_have_parameters(color: str | int, fg: str, bg: str) -> None:
    assert (sgr(color), sgr(color, background=True)) == (fg, bg)


def test_a_styled_string_is_read_as_spans() -> None:
    assert parse("a\x1b[1;31mb\x1b[22mc\x1b[38:2:1:2:3;48;5;7md\x1b[0me\nf") == [
        (
            Span("a"),
            Span("b", Style(1, bold=True)),
            Span("c", Style(1)),
            Span("d", Style("#010203", 7)),
            Span("e"),
        ),
        (Span("f"),),
    ]
    assert parse(f"x{LINK}y") == [(Span("x"), Span("link", Style(link="https://x.example")), Span("y"))]


def test_sequences_that_move_or_set_anything_are_dropped() -> None:
    assert parse("a\x1b[2J\x1b[10;1H\x1b]0;t\x07b\x07\tc") == [(Span("ab   c"),)]


styles = st.builds(
    Style,
    st.sampled_from([None, 3, 11, 99, "#0a0b0c"]),
    st.sampled_from([None, 4, "#ffffff"]),
    *[st.booleans()] * 6,
    st.sampled_from(["", "https://x.example"]),
    st.none(),
)


@given(st.lists(st.builds(Span, st.text("ab中 ", min_size=1, max_size=4), styles), max_size=4))
def test_what_is_written_is_read_back(line: list[Span]) -> None:
    merged: list[Span] = []
    for span in line:
        if merged and merged[-1].style == span.style:
            merged[-1] = Span(merged[-1].text + span.text, span.style)
        else:
            merged.append(span)
    assert parse(AnsiWriter({}).line(merged)) == [tuple(merged)]


def test_width_sees_through_sequences() -> None:
    assert ansi.width("\x1b[31mred\x1b[0m") == 3
    assert ansi.width(LINK) == 4


def test_a_cut_string_fits_and_leaves_no_style_behind() -> None:
    cut = ansi.truncate("\x1b[31m中文字\x1b[0m", 3)
    assert cut == "\x1b[31m中\x1b[0m\x1b[31m…\x1b[0m"
    assert ansi.truncate("abc", 3) == "abc"


def test_every_wrapped_row_carries_its_own_style() -> None:
    assert ansi.wrap("\x1b[31mone two\x1b[0m\nx", 4) == ["\x1b[31mone\x1b[0m", "\x1b[31mtwo\x1b[0m", "x"]
