from __future__ import annotations

from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from piolet.tui.overlay import Anchor, OverlayOptions, OverlayOptionsError, columns_of, place

SCREEN = (100, 30)


def region(drawn: int = 10, **options: Any) -> tuple[int, int, int, int]:
    return place(OverlayOptions.of(options), SCREEN, drawn)


@pytest.mark.parametrize(
    ("anchor", "corner"),
    [
        ("top-left", (0, 0)),
        ("top-center", (30, 0)),
        ("top-right", (60, 0)),
        ("left-center", (0, 10)),
        ("center", (30, 10)),
        ("right-center", (60, 10)),
        ("bottom-left", (0, 20)),
        ("bottom-center", (30, 20)),
        ("bottom-right", (60, 20)),
    ],
)
def test_an_overlay_leans_on_its_anchor(anchor: Anchor, corner: tuple[int, int]) -> None:
    assert region(anchor=anchor, width=40)[:2] == corner


def test_offset_and_margin_move_it() -> None:
    assert region(anchor="top-left", width=40, margin=2, offset_x=3, offsetY=1) == (5, 3, 40, 10)
    assert region(anchor="bottom-right", width=40, margin=(1, 2, 3, 4)) == (58, 17, 40, 10)


def test_sizes_are_cells_or_shares_with_bounds() -> None:
    assert region(width="50%", height="20%")[2:] == (50, 6)
    assert region(width="10%", min_width=30, height=40, maxHeight="50%")[2:] == (30, 15)
    assert region(drawn=50)[2:] == (80, 30)


def test_what_is_no_option_or_no_size_is_named() -> None:
    with pytest.raises(OverlayOptionsError, match="no option 'colour'"):
        OverlayOptions.of({"colour": 1})
    with pytest.raises(OverlayOptionsError, match="'middle'"):
        OverlayOptions.of({"anchor": "middle"})
    with pytest.raises(OverlayOptionsError, match="'wide' is no size"):
        region(width="wide")


def test_it_stands_within_the_rows_that_are_drawn_on() -> None:
    assert place(OverlayOptions(width=40), SCREEN, 10, canvas=12) == (30, 1, 40, 10)
    assert place(OverlayOptions(width=40), SCREEN, 10, canvas=6) == (30, 0, 40, 6)


sizes = st.none() | st.integers(1, 300) | st.integers(1, 200).map(lambda share: f"{share}%")


@given(
    st.sampled_from(get_args(Anchor)),
    sizes,
    sizes,
    st.integers(-300, 300),
    st.integers(-300, 300),
    st.integers(0, 60),
    st.integers(1, 120),
    st.integers(1, 60),
    st.integers(0, 100),
)
def test_it_never_leaves_the_screen(
    anchor: Anchor, width: Any, height: Any, dx: int, dy: int, margin: int, columns: int, rows: int, drawn: int
) -> None:
    options = OverlayOptions(anchor, dx, dy, width=width, height=height, margin=margin)
    x, y, wide, tall = place(options, (columns, rows), drawn)
    assert 0 <= x <= x + wide <= columns
    assert 0 <= y <= y + tall <= rows
    assert columns_of(options, columns) == wide >= 1
    assert tall >= 1
