"""Reading text and images (tools specification, section 2)."""

from __future__ import annotations

import base64
import io
import os
import random
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from piolet.harness.environments.local import LocalEnvironment
from piolet.harness.environments.memory import MemoryEnvironment
from piolet.harness.tools.content import image_type
from piolet.harness.tools.images import deliver
from piolet.harness.tools.options import ImageSettings, ToolOptions
from piolet.harness.tools.read import _LineWindow
from tests.harness.tools.calling import Tools, images_of, text_of


def tools(content: bytes | str) -> Tools:
    return Tools(MemoryEnvironment({"f": content}))


def numbered(count: int) -> str:
    return "".join(f"line{number}\n" for number in range(1, count + 1))


@pytest.mark.parametrize(
    "text", ["", "a", "a\n", "\n\n\n", "a\r\nb\r", "\ufeffa\n", "é日\n", "q\n" * 2000, "x" * 51_200]
)
async def test_a_whole_file_is_its_text(text: str) -> None:
    result = await tools(text).call("read", path="f")
    assert (text_of(result), result.details, result.structured_content) == (text, None, text)


@pytest.mark.parametrize(
    ("arguments", "end"),
    [
        ({}, "line2000\n\n[Showing lines 1-2000 of 5001. Use offset=2001 to continue.]"),
        ({"offset": 10}, "line2009\n\n[Showing lines 10-2009 of 5001. Use offset=2010 to continue.]"),
        ({"offset": 10, "limit": 3}, "line12\n\n[4989 more lines in file. Use offset=13 to continue.]"),
        ({"offset": 4999}, "line4999\nline5000\n"),
        ({"offset": 5001}, ""),
        ({"offset": 0, "limit": 1}, "line1\n\n[5000 more lines in file. Use offset=2 to continue.]"),
        ({"offset": -3, "limit": 0}, "line1\n\n[5000 more lines in file. Use offset=2 to continue.]"),
        ({"offset": 2.9, "limit": 1.9}, "line2\n\n[4999 more lines in file. Use offset=3 to continue.]"),
        ({"offset": 4000, "limit": 1002}, "line5000\n"),
        ({"offset": 4000, "limit": 1001}, "line5000\n\n[1 more lines in file. Use offset=5001 to continue.]"),
    ],
)
async def test_parts_of_a_file(arguments: dict[str, float], end: str) -> None:
    assert (await tools(numbered(5000)).text("read", path="f", **arguments)).endswith(end)


async def test_an_offset_behind_the_end_is_an_error() -> None:
    text = await tools("1\n2\n3").failure("read", path="f", offset=9)
    assert text == "Offset 9 is beyond end of file (3 lines total)"


async def test_the_byte_limit_keeps_whole_lines() -> None:
    result = await tools(("x" * 1000 + "\n") * 100).call("read", path="f", offset=5)
    assert text_of(result).endswith("x\n\n[Showing lines 5-55 of 101 (50.0KB limit). Use offset=56 to continue.]")
    cut = result.details["truncation"]
    assert (cut["totalLines"], cut["totalBytes"], cut["outputLines"], cut["outputBytes"]) == (96, 96_096, 51, 51_050)
    assert (cut["truncatedBy"], cut["truncated"], cut["firstLineExceedsLimit"]) == ("bytes", True, False)


async def test_a_first_line_that_is_too_long_gives_a_hint_only() -> None:
    result = await tools("a\n" + "y" * 200_000 + "\nz\n").call("read", path="f", offset=2)
    assert text_of(result) == "[Line 2 is 195.3KB, exceeds 50.0KB limit. Use bash: sed -n '2p' f | head -c 51200]"
    assert result.details["truncation"]["firstLineExceedsLimit"]


@settings(max_examples=300)
@given(
    st.lists(st.sampled_from(["a", "\n", "é", "bb\n", "\n\n"]), max_size=30).map(lambda parts: "".join(parts).encode()),
    st.integers(1, 12),
    st.none() | st.integers(1, 12),
    st.lists(st.integers(0, 40), max_size=6),
)
def test_it_does_not_matter_in_what_pieces_a_file_comes(
    data: bytes, first: int, limit: int | None, cuts: list[int]
) -> None:
    lines = data.decode().split("\n")
    whole, pieces = _LineWindow(first, limit), _LineWindow(first, limit)
    whole.feed(data)
    position = 0
    for cut in [*sorted(min(cut, len(data)) for cut in cuts), len(data)]:
        pieces.feed(data[position:cut])
        position = cut
    if first > len(lines):
        return
    selected = lines[first - 1 :] if limit is None else lines[first - 1 : first - 1 + limit]
    text = text_of(pieces.result("f"))
    assert text == text_of(whole.result("f"))
    rest = len(lines) - first + 1 - len(selected)
    notice = f"\n\n[{rest} more lines in file. Use offset={first + len(selected)} to continue.]" if rest else ""
    assert text == "\n".join(selected) + notice


async def test_a_large_file_takes_little_memory(tmp_path: Path) -> None:
    with (tmp_path / "f").open("wb") as file:
        for _ in range(40):
            file.write(b"x" * 99 + b"\n" + b"0123456789abcde\n" * 65_536)
    local = Tools(LocalEnvironment(tmp_path))
    await local.text("read", path="f")
    tracemalloc.start()
    text = await local.text("read", path="f", offset=2_000_000, limit=2)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert text.startswith("0123456789abcde\n0123456789abcde\n\n[")
    assert peak < 20_000_000


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"%PDF-1.4\n%\xe2\xe3", "PDF"),
        (b"PK\x03\x04rest", "ZIP"),
        (b"text\n\0more", "binary"),
        (b"\x7fELF\x02", "ELF"),
        (b"II*\0rest", "TIFF"),
        (b"\x1f\x8b\x08", "gzip"),
    ],
)
async def test_what_is_no_text_is_named(content: bytes, kind: str) -> None:
    text = await tools(content).text("read", path="f")
    assert kind in text
    assert len(text) < 200


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le"])
async def test_wide_encodings_with_a_mark_are_decoded(encoding: str) -> None:
    assert await tools("\ufeffhé\r\nx\n".encode(encoding)).text("read", path="f") == "hé\r\nx\n"


async def test_bad_bytes_become_replacement_marks() -> None:
    assert await tools(b"ok \xff\xe9 end\n").text("read", path="f") == "ok \ufffd\ufffd end\n"


async def test_what_cannot_be_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "d").mkdir()
    (tmp_path / "l").symlink_to("l")
    local = Tools(LocalEnvironment(tmp_path))
    assert (await local.failure("read", path="no")).startswith("ENOENT: no such file or directory, access '/")
    assert await local.failure("read", path="d") == "EISDIR: illegal operation on a directory, read"
    assert (await local.failure("read", path="l")).startswith("ELOOP: too many symbolic links encountered, access '/")
    assert "not a regular file but a fifo" in await local.failure("read", path="fifo")
    assert "not a regular file but a device" in await local.failure("read", path="/dev/zero")
    assert "NUL" in await local.failure("read", path="a\0b")


# ------------------------------------------------------------------------------------------------------------- images


def picture(
    size: tuple[int, int], image_format: str, mode: str = "RGB", *, noise: bool = False, **save: object
) -> bytes:
    image = Image.new(mode, size, "red")
    if noise:
        image = Image.frombytes(mode, size, random.Random(1).randbytes(size[0] * size[1] * len(mode)))
    target = io.BytesIO()
    image.save(target, image_format, **save)
    return target.getvalue()


def turned() -> Image.Exif:
    exif = Image.Exif()
    exif[0x0112] = 6
    return exif


async def test_a_small_image_goes_unchanged() -> None:
    for image_format in ("png", "jpeg", "gif", "webp"):
        data, mime_type = picture((30, 10), image_format), f"image/{image_format}"
        result = await tools(data).call("read", path="f", offset=7)
        (image,) = images_of(result)
        assert text_of(result) == f"Read image file [{mime_type}]"
        assert (base64.b64decode(image.data), image.mime_type, result.details) == (data, mime_type, None)
        assert result.structured_content == {
            "type": "image",
            "data": image.data,
            "mimeType": mime_type,
            "note": f"Read image file [{mime_type}]",
        }


@pytest.mark.parametrize(
    ("data", "note", "size"),
    [
        (picture((10, 5), "BMP"), "image/png]\n[Image converted from image/bmp to image/png.]", (10, 5)),
        (
            picture((4000, 1000), "PNG"),
            "image/png]\n[Image: original 4000x1000, displayed at 2000x500. "
            "Multiply coordinates by 2.00 to map to original image.]",
            (2000, 500),
        ),
        (
            picture((3000, 1000), "JPEG", exif=turned()),
            "image/png]\n[Image: original 1000x3000, displayed at 667x2000. "
            "Multiply coordinates by 1.50 to map to original image.]",
            (667, 2000),
        ),
        (
            picture((1500, 1500), "PNG", noise=True),
            "image/jpeg]\n[Image: original 1500x1500, displayed at 1500x1500. "
            "Multiply coordinates by 1.00 to map to original image.]",
            (1500, 1500),
        ),
        (
            picture((3000, 100), "GIF", "P"),
            "image/png]\n[Image: original 3000x100, displayed at 2000x67. "
            "Multiply coordinates by 1.50 to map to original image.]",
            (2000, 67),
        ),
    ],
)
async def test_other_images_are_made_to_fit(data: bytes, note: str, size: tuple[int, int]) -> None:
    result = await tools(data).call("read", path="f")
    assert text_of(result) == f"Read image file [{note}"
    (image,) = images_of(result)
    shown = Image.open(io.BytesIO(base64.b64decode(image.data)))
    assert shown.size == size
    assert f"[{Image.MIME[shown.format or '']}]" in text_of(result)
    assert len(image.data) < 4_718_592


def test_a_small_turned_picture_keeps_its_bytes() -> None:
    data = picture((30, 10), "JPEG", exif=turned())
    delivery = deliver(data, "image/jpeg", ImageSettings())
    assert delivery.image is not None
    assert base64.b64decode(delivery.image.data) == data


def test_the_byte_limit_is_kept_by_quality_and_size() -> None:
    data = picture((600, 600), "PNG", noise=True)
    for limit in (60_000, 20_000, 5_000):
        delivery = deliver(data, "image/png", ImageSettings(max_bytes=limit))
        assert delivery.image is not None
        assert len(delivery.image.data) < limit
    assert deliver(data, "image/png", ImageSettings(max_bytes=200)).image is None


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGBA", "CMYK", "I;16", "F"])
def test_every_kind_of_pixels_is_delivered(mode: str) -> None:
    data = picture((2100, 20), "TIFF", mode) if mode in ("CMYK", "F") else picture((2100, 20), "PNG", mode)
    delivery = deliver(data, "image/png", ImageSettings())
    assert delivery.image is not None


@pytest.mark.parametrize("size", [9, 60, 200])
def test_a_broken_image_is_left_out(size: int) -> None:
    data = picture((300, 300), "PNG", noise=True)[:size]
    delivery = deliver(data, "image/png", ImageSettings())
    assert delivery.image is None
    assert delivery.note.endswith("[Image omitted: could not be resized below the inline image size limit.]")


def test_without_resizing_bytes_are_not_looked_at() -> None:
    settings_off = ImageSettings(auto_resize=False)
    broken = deliver(b"\x89PNG\r\n\x1a\nxx", "image/png", settings_off)
    assert broken.image is not None
    bitmap = deliver(picture((3000, 10), "BMP"), "image/bmp", settings_off)
    assert bitmap.image is not None
    assert bitmap.image.mime_type == "image/png"


async def test_a_model_without_images_is_named_in_the_details() -> None:
    options = ToolOptions(blind_model=lambda: "blind-1")
    result = await Tools(MemoryEnvironment({"f": picture((3, 3), "PNG")}), options).call("read", path="f")
    assert len(images_of(result)) == 1
    assert result.details == {"imageUnsupportedByModel": "blind-1"}


def test_the_type_of_an_image_is_told_by_its_bytes() -> None:
    frames = [Image.new("RGB", (20, 20), colour) for colour in ("red", "blue")]
    animated = io.BytesIO()
    frames[0].save(animated, "PNG", save_all=True, append_images=frames[1:])
    assert image_type(animated.getvalue()) is None
    gif = io.BytesIO()
    frames[0].save(gif, "GIF", save_all=True, append_images=frames[1:])
    assert image_type(gif.getvalue()) == "image/gif"
    assert image_type(b"BMW is a car maker") is None
    assert image_type(b"RIFF0000WAVE") is None
    assert image_type(b"<svg/>") is None
