from __future__ import annotations

import random

import pytest

from piolet.tui.sixel import sixel
from tests.support.graphics import sixel_images

PALETTE = [(0, 0, 0), (255, 0, 0), (0, 255, 0), (51, 102, 153)]


@pytest.mark.parametrize(("width", "height"), [(1, 1), (5, 6), (40, 13), (300, 20)])
def test_pixels_come_back_as_they_were(width: int, height: int) -> None:
    dice = random.Random(width)
    pixels = bytes(dice.choice((0, 1, 2, 3, 255)) for _ in range(width * height))
    pixels = pixels[: width * height // 2] + bytes([1]) * (width * height - width * height // 2)  # with long runs
    (image,) = sixel_images(sixel(pixels, width, PALETTE).encode())
    assert image.size == (width, height)
    wanted = [(*PALETTE[pixel], 255) if pixel < 4 else (0, 0, 0, 0) for pixel in pixels]
    assert [image.getpixel((at % width, at // width)) for at in range(width * height)] == wanted


def test_only_colours_that_are_used_are_sent_and_runs_are_short() -> None:
    text = sixel(bytes([2]) * 600, 100, PALETTE)
    assert text == '\x1bP0;1;0q"1;1;100;6#2;2;0;100;0#2!100~\x1b\\'
