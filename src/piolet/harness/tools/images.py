"""How an image file is delivered to a model: as it is, or smaller, upright and in a format that models take.

Source: the tools specification, section 2, "Images". Pillow is imported only when an image is read.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from piolet.base.image_files import image_file
from piolet.harness.tools.options import ImageSettings
from piolet.llm.messages import ImageContent

if TYPE_CHECKING:
    from PIL.Image import Image

_LOWER_QUALITIES: Final = (60, 40)
_SHRINK: Final = 0.75


class ImageDelivery(Struct, frozen=True):
    """`image` is None if the file holds nothing that can be shown; `note` is the text beside it."""

    image: ImageContent | None
    note: str


def deliver(data: bytes, mime_type: str, settings: ImageSettings) -> ImageDelivery:
    """Return how the image `data` goes to the model. A broken image is no error: the note says that it is left out."""
    if not settings.auto_resize and mime_type != "image/bmp":
        return _delivery(data, mime_type)
    from PIL import Image

    try:
        with image_file(data) as image:
            image.load()
            size = (image.width, image.height)
            if mime_type != "image/bmp" and _within(size, settings) and _fits(data, settings):
                return _delivery(data, mime_type)
            delivery = _encoded(image, mime_type, settings)
    except (OSError, ValueError, SyntaxError, EOFError, Image.DecompressionBombError):
        delivery = None
    return delivery or ImageDelivery(
        None,
        f"Read image file [{mime_type}]\n[Image omitted: could not be resized below the inline image size limit.]",
    )


def _delivery(data: bytes, mime_type: str, *notes: str) -> ImageDelivery:
    image = ImageContent(base64.b64encode(data).decode(), mime_type)
    return ImageDelivery(image, "\n".join([f"Read image file [{mime_type}]", *notes]))


def _encoded(image: Image, mime_type: str, settings: ImageSettings) -> ImageDelivery | None:
    from PIL import ImageOps

    upright = _plain_mode(ImageOps.exif_transpose(image))
    original = (upright.width, upright.height)
    for size in _sizes(original, settings):
        shown = upright if size == original else upright.resize(size)
        data, new_type = _smallest(shown, settings)
        if settings.auto_resize and not _fits(data, settings):
            continue
        notes = []
        if mime_type == "image/bmp":
            notes.append(f"[Image converted from {mime_type} to {new_type}.]")
        if mime_type != "image/bmp" or size != original:
            notes.append(
                f"[Image: original {original[0]}x{original[1]}, displayed at {size[0]}x{size[1]}. "
                f"Multiply coordinates by {original[0] / size[0]:.2f} to map to original image.]"
            )
        return _delivery(data, new_type, *notes)
    return None


def _sizes(original: tuple[int, int], settings: ImageSettings) -> Iterator[tuple[int, int]]:
    """Give the sizes to try: within the limits first, then smaller ones down to nothing worth showing."""
    width, height = original
    if not settings.auto_resize:
        yield original
        return
    factor = min(1.0, settings.max_width / width, settings.max_height / height)
    while True:
        size = (max(1, round(width * factor)), max(1, round(height * factor)))
        yield size
        if max(size) < 64:
            return
        factor *= _SHRINK


def _smallest(image: Image, settings: ImageSettings) -> tuple[bytes, str]:
    """Return the smaller one of PNG and JPEG; if that does not fit, JPEG of lower quality."""
    png = _saved(image, "PNG", optimize=False)
    if not settings.auto_resize:
        return png, "image/png"
    opaque = _on_white(image)
    jpeg = _saved(opaque, "JPEG", quality=settings.jpeg_quality)
    best = (png, "image/png") if len(png) <= len(jpeg) else (jpeg, "image/jpeg")
    for quality in _LOWER_QUALITIES:
        if _fits(best[0], settings):
            break
        best = (_saved(opaque, "JPEG", quality=min(quality, settings.jpeg_quality)), "image/jpeg")
    return best


def _saved(image: Image, image_format: str, **parameters: object) -> bytes:
    target = io.BytesIO()
    image.save(target, image_format, **parameters)
    return target.getvalue()


def _plain_mode(image: Image) -> Image:
    """Return the first frame in a mode that both formats and the resampling know."""
    transparent = image.has_transparency_data
    return image.convert("RGBA" if transparent else "RGB")


def _on_white(image: Image) -> Image:
    from PIL import Image as images

    if image.mode != "RGBA":
        return image
    canvas = images.new("RGB", image.size, "white")
    canvas.paste(image, mask=image.getchannel("A"))
    return canvas


def _within(size: tuple[int, int], settings: ImageSettings) -> bool:
    return size[0] <= settings.max_width and size[1] <= settings.max_height


def _fits(data: bytes, settings: ImageSettings) -> bool:
    return (len(data) + 2) // 3 * 4 < settings.max_bytes
