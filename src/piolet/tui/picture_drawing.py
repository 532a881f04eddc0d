"""Draws an image onto the cells that it takes, and cuts it into what a protocol takes.

Decoding is Pillow's. It may take a while, and images are foreign: call it in a thread, and be ready for `Undrawable`.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from piolet.base.image_files import image_file
from piolet.tui.image_protocols import iterm2
from piolet.tui.sixel import sixel

if TYPE_CHECKING:
    from PIL.Image import Image

MAX_PIXELS = 40_000_000
_COLORS = 255  # of a sixel palette; the place behind them leaves what is there
_OPAQUE = 128  # of 255, from which on a pixel is seen where there is no transparency


class Undrawable(Exception):
    """The image is damaged, of a kind that is not known, or too large."""


@dataclass(frozen=True, slots=True, eq=False)
class Sheet:
    """A whole picture as PNG, of which a terminal shows any part."""

    png: bytes
    width: int
    height: int


@dataclass(frozen=True, slots=True, eq=False)
class Stripes:
    """A picture as sequences, each of which draws one row of cells at the cursor."""

    rows: Sequence[str]


Drawing: TypeAlias = Sheet | Stripes


def draw(
    data: str,
    columns: int,
    rows: int,
    cell: tuple[int, int],
    protocol: Literal["kitty", "iterm2", "sixel"],
) -> Drawing:
    """Return the image of base64 `data`, the first one if it moves, drawn on so many cells of `cell` pixels. Raises
    `Undrawable`."""
    try:
        return _drawing(_canvas(data, columns * cell[0], rows * cell[1]), columns, rows, protocol)
    except Undrawable:
        raise
    except Exception as error:  # decoders of damaged files raise what they like
        raise Undrawable(str(error)) from error


def _drawing(canvas: Image, columns: int, rows: int, protocol: Literal["kitty", "iterm2", "sixel"]) -> Drawing:
    if protocol == "kitty":
        return Sheet(_png(canvas), canvas.width, canvas.height)
    if protocol == "iterm2":
        return Stripes([iterm2(_png(stripe), (columns, 1)) for stripe in _stripes(canvas, rows)])
    indexed, palette = _quantized(canvas)
    return Stripes([sixel(stripe.tobytes(), stripe.width, palette) for stripe in _stripes(indexed, rows)])


def _canvas(data: str, width: int, height: int) -> Image:
    """Return the image upright, as large as it can be at the top left of a transparent canvas."""
    from PIL import Image as images
    from PIL import ImageOps

    canvas, side = images.new("RGBA", (width, height)), max(width, height)
    with image_file(base64.b64decode(data)) as image:
        if image.width * image.height > MAX_PIXELS:
            raise Undrawable(f"{image.width}x{image.height} pixels are too many")
        image.draft("RGB", (side, side))
        upright = ImageOps.exif_transpose(image).convert("RGBA")
        factor = min(width / upright.width, height / upright.height)
        size = max(1, round(upright.width * factor)), max(1, round(upright.height * factor))
        canvas.paste(upright.resize(size, reducing_gap=3.0))
    return canvas


def _stripes(image: Image, count: int) -> Iterator[Image]:
    height = image.height // count
    for top in range(0, image.height, height):
        yield image.crop((0, top, image.width, top + height))


def _png(image: Image) -> bytes:
    target = io.BytesIO()
    image.save(target, "PNG")
    return target.getvalue()


def _quantized(image: Image) -> tuple[Image, list[tuple[int, int, int]]]:
    """Return the image with a byte a pixel, and the palette; what is not seen has a byte behind its end."""
    colors = image.convert("RGB")
    indexed = colors.quantize(palette=colors.quantize(_COLORS))
    flat = indexed.getpalette("RGB") or []
    palette = [(flat[at], flat[at + 1], flat[at + 2]) for at in range(0, min(len(flat), 3 * _COLORS), 3)]
    indexed.paste(_COLORS, mask=image.getchannel("A").point(lambda alpha: 255 * (alpha < _OPAQUE)))
    return indexed, palette
