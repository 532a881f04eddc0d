from __future__ import annotations

import io
from base64 import b64encode
from typing import Any

import pytest
from PIL import Image

from piolet.tui import picture_drawing
from piolet.tui.picture_drawing import Sheet, Stripes, Undrawable, draw
from piolet.tui.terminal_caps import ImageProtocol
from tests.support.graphics import iterm2_images, picture, sixel_images


def encoded(image: Image.Image, kind: str = "PNG", **options: Any) -> str:
    target = io.BytesIO()
    image.save(target, kind, **options)
    return b64encode(target.getvalue()).decode()


def halves() -> Image.Image:
    """Return an image that is red above and blue below."""
    image = Image.new("RGB", (200, 100), "red")
    image.paste((0, 0, 255), (0, 50, 200, 100))
    return image


def sheet(data: str, columns: int = 20, rows: int = 5) -> Image.Image:
    drawing = draw(data, columns, rows, (9, 18), "kitty")
    assert isinstance(drawing, Sheet)
    image = Image.open(io.BytesIO(drawing.png)).convert("RGBA")
    assert image.size == (drawing.width, drawing.height) == (9 * columns, 18 * rows)
    return image


def test_a_sheet_has_the_pixels_of_its_cells() -> None:
    image = sheet(encoded(halves()))
    assert image.getpixel((90, 10)) == (255, 0, 0, 255)
    assert image.getpixel((90, 80)) == (0, 0, 255, 255)


def test_what_the_picture_leaves_of_its_cells_is_transparent() -> None:
    image = sheet(encoded(halves()), rows=6)
    assert image.getpixel((0, 89)) == (0, 0, 255, 255)
    assert image.getpixel((0, 91)) == (0, 0, 0, 0)


@pytest.mark.parametrize(("protocol", "off"), [("iterm2", 0), ("sixel", 3)])
def test_stripes_are_one_for_each_row_of_cells(protocol: Any, off: int) -> None:
    drawing = draw(encoded(halves()), 20, 5, (9, 18), protocol)
    assert isinstance(drawing, Stripes)
    assert len(drawing.rows) == 5
    for number, row in enumerate(drawing.rows):
        if protocol == "sixel":
            (image,) = sixel_images(row.encode())
        else:
            ((keys, image),) = iterm2_images(row.encode())
            assert keys | {"size": ""} == {
                "inline": "1", "size": "", "width": "20", "height": "1",
                "preserveAspectRatio": "0", "doNotMoveCursor": "1",
            }  # fmt: skip
        assert image.size == (180, 18)
        pixel = image.convert("RGBA").getpixel((90, 2 if number < 3 else 15))
        wanted = (255, 0, 0, 255) if number < 3 else (0, 0, 255, 255)
        assert isinstance(pixel, tuple)
        assert all(abs(one - other) <= off for one, other in zip(pixel, wanted, strict=True)), (number, pixel)


def test_sixels_leave_out_what_is_transparent() -> None:
    image = Image.new("RGBA", (200, 100), (0, 255, 0, 255))
    image.paste((0, 0, 0, 0), (100, 0, 200, 100))
    drawing = draw(encoded(image), 20, 5, (9, 18), "sixel")
    assert isinstance(drawing, Stripes)
    (row,) = sixel_images(drawing.rows[0].encode())
    assert row.getpixel((40, 5)) == (0, 255, 0, 255)
    assert row.getpixel((150, 5)) == (0, 0, 0, 0)


def test_a_photo_is_upright_and_of_moving_images_the_first_is_drawn() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # its top is at the left
    assert sheet(encoded(halves(), "JPEG", exif=exif, quality=95), 10, 10).getpixel((30, 90))[2] > 240  # type: ignore[index]
    frames = [Image.new("RGB", (200, 100), color) for color in ("lime", "red", "blue")]
    assert sheet(encoded(frames[0], "GIF", save_all=True, append_images=frames[1:])).getpixel((9, 9)) == (
        0,
        255,
        0,
        255,
    )


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "CMYK", "I;16", "F"])
@pytest.mark.parametrize("protocol", ["kitty", "iterm2", "sixel"])
def test_images_of_every_kind_are_drawn(mode: str, protocol: Any) -> None:
    kind = "TIFF" if mode in ("CMYK", "F") else "PNG"
    assert draw(encoded(Image.new(mode, (20, 10)), kind), 4, 1, (9, 18), protocol)


@pytest.mark.parametrize("protocol", ["kitty", "iterm2", "sixel"])
def test_damaged_images_are_undrawable(protocol: ImageProtocol) -> None:
    assert protocol != "none"
    whole = picture(300, 300)
    for data in (b"", b"text", whole[:60], whole[:-30], whole[:40] + b"\xff" * 40 + whole[80:]):
        with pytest.raises(Undrawable):
            draw(b64encode(data).decode(), 4, 2, (9, 18), protocol)
    with pytest.raises(Undrawable):
        draw("no base64", 4, 2, (9, 18), protocol)


def test_an_image_of_too_many_pixels_is_not_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(picture_drawing, "MAX_PIXELS", 100)
    with pytest.raises(Undrawable, match="20x10"):
        draw(encoded(Image.new("RGB", (20, 10))), 4, 1, (9, 18), "kitty")


def test_what_a_program_would_decode_is_refused() -> None:
    postscript = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EndComments\nshowpage\n"
    with pytest.raises(Undrawable, match="cannot identify"):
        draw(b64encode(postscript).decode(), 2, 1, (9, 18), "kitty")
