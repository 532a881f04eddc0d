"""Pixels as sixel graphics, six rows of pixels at a time. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

Rgb = tuple[int, int, int]

_BAND = 6
_CHARACTERS = bytes(range(63, 128)) + bytes(191)  # by the pixels that are set
_run = re.compile(rb"(.)\1{3,}", re.DOTALL)


def sixel(pixels: bytes, width: int, palette: Sequence[Rgb]) -> str:
    """Return what draws `pixels` (one byte each, `width` of them in a row) at the cursor. A byte is the place of a
    colour (0-255 a channel) in `palette`; one behind its end leaves what is there."""
    height = len(pixels) // width
    colors = [color for color in sorted(set(pixels)) if color < len(palette)]
    registers = "".join(f"#{color};2;{';'.join(_percent(channel) for channel in palette[color])}" for color in colors)
    size = _BAND * width
    bands = [_band(pixels[at : at + size], width, len(palette)) for at in range(0, height * width, size)]
    return f'\x1bP0;1;0q"1;1;{width};{height}{registers}{"-".join(bands)}\x1b\\'


def _percent(channel: int) -> str:
    return str(round(channel * 100 / 255))


def _band(pixels: bytes, width: int, colors: int) -> str:
    rows = [pixels[at : at + width] for at in range(0, len(pixels), width)]
    return "$".join(_layer(rows, width, color) for color in sorted(set(pixels)) if color < colors)


def _layer(rows: Sequence[bytes], width: int, color: int) -> str:
    """Return the pixels of one colour in a band."""
    bits = 0
    for number, row in enumerate(rows):
        if color in row:
            bits |= int.from_bytes(row.translate(_only(color, 1 << number)), "big")
    characters = bits.to_bytes(width, "big").translate(_CHARACTERS).rstrip(b"?")
    return f"#{color}" + _run.sub(lambda run: b"!%d%c" % (len(run[0]), run[1]), characters).decode()


def _only(color: int, value: int) -> bytes:
    """Return the table that makes `value` of one byte, and 0 of all others."""
    return bytes(color) + bytes([value]) + bytes(255 - color)
