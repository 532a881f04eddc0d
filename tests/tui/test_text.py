from __future__ import annotations

import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from piolet.tui import text

FAMILY = "👨‍👩‍👧"
mixed = st.text(
    alphabet=st.one_of(
        st.sampled_from(
            ["a", "b", " ", "中", "カ", "é", "\u0301", "😀", "\u200d", "\ufe0f", "🏽", "🇩", "한", "\u0e34", "-"]
        ),
        st.characters(exclude_categories=["Cs", "Cc", "Cn", "Co"]),
    ),
    max_size=60,
)


@pytest.mark.parametrize(
    ("value", "cells"),
    [
        ("", 0),
        ("abc", 3),
        ("中文", 4),
        ("ｶﾅ", 2),
        ("é", 1),
        ("e\u0301", 1),
        ("😀", 2),
        (FAMILY, 2),
        ("🇩🇪", 2),
        ("🇩🇪🇫🇷", 4),
        ("❤️", 2),
        ("☎", 1),
        ("☎️", 2),
        ("⚠️", 2),
        ("1️⃣", 2),
        ("a\ufe0f", 1),
        ("a\u200bb", 2),
        ("…—", 2),
        ("한글", 4),
        ("\u1112\u1161\u11ab", 2),
        ("ไทย", 3),
        ("क्ष", 2),
        ("👍🏽", 2),
        ("\U0001fae8", 2),
        ("\u00ad", 1),
    ],
)
def test_width_counts_cells(value: str, cells: int) -> None:
    assert text.width(value) == cells


@pytest.mark.parametrize(
    ("value", "clusters"),
    [
        ("abc", ["a", "b", "c"]),
        ("e\u0301x", ["e\u0301", "x"]),
        (FAMILY + "x", [FAMILY, "x"]),
        ("🇩🇪🇫🇷🇮", ["🇩🇪", "🇫🇷", "🇮"]),
        ("👍🏽👍", ["👍🏽", "👍"]),
        ("❤️a", ["❤️", "a"]),
        ("\u0301a", ["\u0301", "a"]),
        ("a\n\u0301b", ["a", "\n", "\u0301", "b"]),
        ("\u1112\u1161\u11ab가", ["\u1112\u1161\u11ab", "가"]),
    ],
)
def test_clusters_keep_together_what_is_one_character_to_a_reader(value: str, clusters: list[str]) -> None:
    assert text.graphemes(value) == clusters


@given(mixed)
def test_clusters_joined_are_the_text_and_widths_add_up(value: str) -> None:
    assert "".join(text.graphemes(value)) == value
    assert sum(size for _, size in text.cells(value)) == text.width(value)


@given(mixed, st.integers(0, 12))
def test_truncating_never_exceeds_the_limit_and_never_parts_a_cluster(value: str, limit: int) -> None:
    cut = text.truncate(value, limit)
    assert text.width(cut) <= limit
    if cut != value:
        kept = text.graphemes(cut.removesuffix(text.ELLIPSIS))
        assert text.graphemes(value)[: len(kept)] == kept


def test_truncated_text_ends_in_an_ellipsis_if_there_is_room_for_it() -> None:
    assert text.truncate("abcdef", 4) == "abc…"
    assert text.truncate("中文字", 4) == "中…"
    assert text.truncate("abcdef", 4, "") == "abcd"
    assert text.truncate("abcdef", 0) == ""


@given(mixed, st.integers(2, 12))
def test_rows_cover_the_text_and_fit(value: str, limit: int) -> None:
    ranges = text.wrap_ranges(value, limit)
    assert "".join(value[start:end] for start, end in ranges) == value
    clusters = text.graphemes(value)
    for start, end in ranges:
        row = value[start:end]
        assert text.width(row.removesuffix(" ")) <= limit
        assert len(text.graphemes(row)) <= len(clusters)
    assert sum(len(text.graphemes(value[start:end])) for start, end in ranges) == len(clusters)


@pytest.mark.parametrize(
    ("value", "limit", "rows"),
    [
        ("hello world", 5, ["hello", "world"]),
        ("hello world", 8, ["hello", "world"]),
        ("hello big world", 9, ["hello big", "world"]),
        ("abcdefghij", 4, ["abcd", "efgh", "ij"]),
        ("ab abcdefghij", 4, ["ab", "abcd", "efgh", "ij"]),
        ("中文字中文", 5, ["中文", "字中", "文"]),
        ("ab中文cd", 4, ["ab中", "文cd"]),
        ("  indented line", 12, ["  indented", "line"]),
        ("a\n\nb", 8, ["a", "", "b"]),
        ("", 8, [""]),
        ("a     b", 3, ["a", "b"]),
        ("한국어 문장", 6, ["한국어", "문장"]),
    ],
)
def test_wrapping_breaks_at_words_and_between_ideographs(value: str, limit: int, rows: list[str]) -> None:
    assert text.wrap(value, limit) == rows


def test_a_cluster_wider_than_the_row_stands_alone_and_is_drawn_as_a_sign() -> None:
    assert text.wrap_ranges("中😀", 1) == [(0, 1), (1, 2)]
    assert text.wrap("中😀a", 1) == ["…", "…", "a"]


@pytest.mark.parametrize("unit", ["x", "中", "e\u0301", "word ", " ", FAMILY])
def test_a_line_of_megabytes_is_wrapped_quickly(unit: str) -> None:
    value = unit * (1_000_000 // len(unit))
    start = time.process_time()
    text.wrap_ranges(value, 80)
    assert time.process_time() - start < 20


def test_what_is_drawn_of_foreign_text_drives_nothing() -> None:
    for value in ("a\x1b]0;pwn\x07b", "a\x1b]52;c;QUJD\x07b", "a\x9b31mb", "a\rb", "a\x00b", "a\u202eb"):
        assert text.safe_for_terminal(value) == "ab"
    assert text.safe_for_terminal("a\ud800b") == "a\ufffdb"
    assert text.safe_for_terminal("שלום\u200f\tx\n") == "שלום\u200f\tx\n"


def test_one_line_folds_blanks() -> None:
    assert text.one_line(" a\n\n b\t\x1b[1mc ") == "a b c"


def test_width_agrees_with_the_toolkit_on_assigned_characters() -> None:
    from rich.cells import cell_len

    differ = [
        chr(code)
        for code in range(0x20, 0x30000)
        if unicodedata.category(chr(code)) not in ("Cn", "Cs", "Cc", "Co")
        and text.width(chr(code)) != cell_len(chr(code))
    ]
    # A lone skin tone; symbols that became wide after this interpreter's tables were made.
    assert {c for c in differ if not 0x1F3FB <= ord(c) <= 0x1F3FF} <= set(
        map(chr, [*range(0x2630, 0x2638), *range(0x268A, 0x2690), *range(0x1D300, 0x1D377)])
    )
