from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from piolet.tui.theme_color import ColorError, contrast, parse_color, rgb, to_index


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("#FfF", "#ffffff"),
        (39.0, 39),
        ("oklch( 62%  0.1\t200 )", "#1c989e"),
        ("OKLCH(+.62 1e-1 200DEG)", "#1c989e"),
        ("oklch(1 0.1 40)", "#ffffff"),
        ("oklch(50% 0.4 40)", "#a93800"),
        ("okhsl(-10 50% .5)", "#a75a80"),
        ("okhsl(730 50% 50%)", "#ac5b69"),
        ("okhsl(10 100% 0%)", "#000000"),
        ("okhsl(10 100% 100%)", "#ffffff"),
    ],
)
def test_colours_are_read_in_every_form(value: object, expected: object) -> None:
    assert parse_color(value) == expected


@pytest.mark.parametrize(
    "value",
    [
        *["", "red", "#ffff", "#ggg", "12", 256, -1, 1.5, True, None, [], "oklch(50 0.1 40)", "oklch(50% -0.1 40)"],
        *["oklch(0.5 50% 40)", "oklch (62% 0.1 200)", "oklch(50% 0.1 40 / 0.5)"],
        *["okhsl(10% 50% 50%)", "okhsl(1 -5% 50%)"],
    ],
)
def test_what_is_no_colour_is_shown(value: object) -> None:
    with pytest.raises(ColorError, match="is no colour"):
        parse_color(value)


@given(st.floats(-720, 720), st.floats(0, 1), st.floats(0, 1))
def test_okhsl_without_saturation_is_gray(hue: float, saturation: float, lightness: float) -> None:
    gray = rgb(parse_color(f"okhsl({hue:.4f} 0% {lightness:.4f})"))
    assert max(gray) - min(gray) <= 1
    assert len(rgb(parse_color(f"okhsl({hue:.4f} {saturation:.4f} {lightness:.4f})"))) == 3


@given(st.integers(16, 255))
def test_colours_of_the_palette_find_their_own_place(index: int) -> None:
    channels = rgb(index)
    assert rgb(to_index(channels.hex)) == channels


def test_contrast_is_that_of_wcag() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)
    assert contrast(15, 0) == pytest.approx(21)
