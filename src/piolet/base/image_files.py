"""Opens foreign image files with Pillow, which is imported only when there is one."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from PIL.Image import Image

_FORMATS: Final = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF")  # of some others Pillow lets programs do the decoding


@contextmanager
def image_file(data: bytes) -> Iterator[Image]:
    """Give the image of a file, not decoded yet, without Pillow's warnings meanwhile. Damaged files raise what Pillow's
    decoders like, here or when it is decoded; `OSError` if it is of none of the kinds that are opened."""
    from PIL import Image as images

    with warnings.catch_warnings(action="ignore"), images.open(io.BytesIO(data), formats=_FORMATS) as image:
        yield image
