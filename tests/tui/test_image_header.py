from __future__ import annotations

import io
from typing import Any

import pytest
from PIL import Image

from piolet.tui.image_header import image_size


def file(kind: str, size: tuple[int, int] = (31, 17), **options: Any) -> bytes:
    target = io.BytesIO()
    Image.new("RGB", size, "red").save(target, kind, **options)
    return target.getvalue()


def turned(orientation: int) -> Image.Exif:
    exif = Image.Exif()
    exif[0x0112] = orientation
    return exif


@pytest.mark.parametrize(
    ("data", "size"),
    [
        (file("PNG"), (31, 17)),
        (file("GIF"), (31, 17)),
        (file("BMP"), (31, 17)),
        (file("JPEG"), (31, 17)),
        (file("JPEG", progressive=True, comment=b"x" * 60_000), (31, 17)),
        (file("WEBP"), (31, 17)),
        (file("WEBP", lossless=True), (31, 17)),
        (file("WEBP", exif=b"Exif\0\0MM\0*\0\0\0\x08\0\0"), (31, 17)),
        (file("WEBP", (5000, 3), lossless=True), (5000, 3)),
    ],
)
def test_the_size_is_told_by_the_beginning(data: bytes, size: tuple[int, int]) -> None:
    assert image_size(data) == size
    for end in range(min(len(data), 700)):
        assert image_size(data[:end]) in (None, size)


@pytest.mark.parametrize("orientation", range(1, 9))
def test_a_photo_that_is_shown_on_its_side_is_as_wide_as_it_is_high(orientation: int) -> None:
    assert image_size(file("JPEG", exif=turned(orientation))) == ((31, 17) if orientation < 5 else (17, 31))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"text",
        b"\x89PNG\r\n\x1a\n",
        b"GIF89a\0\0\0\0",
        b"\xff\xd8\xff\xe0\0\0\xff",
        b"\xff\xd8\xff\xe1\0\x10Exif\0\0MM\0*\xff\xff\xff\xff" + b"\xff" * 40,
        b"RIFF\0\0\0\0WEBPABCD" + bytes(20),
    ],
)
def test_what_is_no_image_or_damaged_has_no_size(data: bytes) -> None:
    assert image_size(data) is None
