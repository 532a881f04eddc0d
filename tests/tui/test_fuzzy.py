from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from piolet.tui.fuzzy import rank, score, score_words


@pytest.mark.parametrize(
    ("query", "text", "expected"),
    [
        ("a", "a", -110.0),  # a beginning, and equal
        ("b", "abc", 0.1),
        ("c", "a-c", -10 + 0.2),
        ("ac", "abc", -10 + 2 + 0.2),
        ("ab", "xab", 0.1 - 5 + 0.2),
        ("abc", "xabc", 0.1 - 5 + 0.2 - 10 + 0.3),
        ("AB", "ab", -10 - 5 + 0.1 - 100),
        ("", "abc", 0.0),
    ],
)
def test_a_score_is_the_sum_of_its_rules(query: str, text: str, expected: float) -> None:
    assert score(query, text) == pytest.approx(expected)


def test_characters_out_of_order_do_not_match() -> None:
    assert score("ba", "abc") is None
    assert score("abcd", "abc") is None


def test_a_contiguous_place_beats_the_first_characters_found() -> None:
    assert score("tree", "t-r-e-e tree") == pytest.approx(score("tree", "tree") + 100 + 0.1 * 8 * 4)  # type: ignore[operator]


def test_swapped_letters_and_digits_are_tried_last() -> None:
    assert score("5gpt", "gpt5") == pytest.approx(score("gpt5", "gpt5") + 5)  # type: ignore[operator]
    assert score("gpt5", "5-gpt") is not None
    assert score("gp5t", "gpt5") is None


def test_every_word_must_fit() -> None:
    assert score_words("anthropic/son", "anthropic claude-sonnet") is not None
    assert score_words("anthropic haiku", "anthropic claude-sonnet") is None


def test_ranking_puts_the_best_first_and_keeps_the_order_of_equals() -> None:
    assert rank("mo", ["some model", "model", "memo", "none"], str) == ["model", "some model", "memo"]
    assert rank(" ", ["b", "a"], str) == ["b", "a"]
    assert rank("a", [("a", 1), ("a", 2)], lambda item: item[0]) == [("a", 1), ("a", 2)]


@given(st.text("ab-1", max_size=5), st.text("ab-1", max_size=8))
def test_a_match_is_a_subsequence(query: str, text: str) -> None:
    places = iter(text)
    if all(char in places for char in query):
        assert score(query, text) is not None
