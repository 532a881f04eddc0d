"""A sequence whose items are made when they are read."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from piolet.base.made_later import MadeLater


@pytest.fixture
def asked() -> list[list[int]]:
    return []


@pytest.fixture
def squares(asked: list[list[int]]) -> MadeLater[int]:
    def make(places: Sequence[int]) -> list[int]:
        asked.append(list(places))
        return [place * place for place in places]

    return MadeLater(5, make)


def test_nothing_is_made_to_count_them(squares: MadeLater[int], asked: list[list[int]]) -> None:
    assert len(squares) == 5
    assert squares
    assert asked == []


def test_items_are_made_once_and_together(squares: MadeLater[int], asked: list[list[int]]) -> None:
    assert squares[-2] == 9
    assert list(squares) == [0, 1, 4, 9, 16]
    assert list(squares) == squares[:]
    assert asked == [[3], [0, 1, 2, 4]]


def test_it_reads_as_a_list(squares: MadeLater[int]) -> None:
    assert squares == [0, 1, 4, 9, 16]
    assert squares != [0, 1]
    assert squares[1:4] == [1, 4, 9]
    assert squares[::-2] == [16, 4, 0]
    assert squares == MadeLater(5, lambda places: [place**2 for place in places])
    assert repr(squares) == "[0, 1, 4, 9, 16]"
    assert (squares.index(4), 9 in squares, 5 in squares) == (2, True, False)
    for beyond in (5, -6):
        with pytest.raises(IndexError):
            squares[beyond]
