from __future__ import annotations

import gc
from base64 import b64encode

import pytest

from piolet.tui.pictures import Album, Picture, PictureRoom
from tests.support.graphics import picture


def encoded(data: bytes) -> str:
    return b64encode(data).decode()


@pytest.mark.parametrize(
    ("size", "width", "cells"),
    [
        ((200, 100), 100, (60, 15)),
        ((20, 10), 100, (60, 15)),
        ((400, 2000), 100, (12, 30)),
        ((100, 100), 100, (60, 30)),
        ((200, 100), 20, (20, 5)),
        ((10_000, 1), 100, (60, 1)),
        ((1, 10_000), 100, (1, 30)),
        ((3, 2), 1, (1, 1)),
    ],
)
def test_a_picture_fills_the_room_in_its_ratio_and_is_no_taller_than_wide(
    size: tuple[int, int], width: int, cells: tuple[int, int]
) -> None:
    assert PictureRoom(60, (9, 18)).fit(size, width) == cells


def test_the_height_follows_the_pixels_of_a_cell() -> None:
    assert PictureRoom(60, (10, 20)).fit((300, 100), 100) == (60, 10)
    assert PictureRoom(60, (10, 15)).fit((300, 100), 100) == (60, 14)


def test_a_picture_that_is_not_drawn_is_told_by_a_line() -> None:
    known = Picture(encoded(picture(20, 10, kind="GIF")), "image/gif")
    assert known.placeholder == "[image: image/gif 20x10]"
    assert known.rows(None, 80) == []
    assert len(known.rows(PictureRoom(), 80)) == 15
    known.broken = True
    assert known.rows(PictureRoom(), 80) == []
    for data in ("", "not base64!", "é", encoded(b"no image")):
        unknown = Picture(data, "image/x")
        assert unknown.placeholder == "[image: image/x]"
        assert unknown.rows(PictureRoom(), 80) == []


def test_the_size_is_found_behind_a_long_comment() -> None:
    head, rest = b"\xff\xd8", picture(20, 10, kind="JPEG")[2:]
    comment = b"\xff\xfe\xff\xff" + bytes(65_533)
    assert Picture(encoded(head + comment * 3 + rest), "image/jpeg").size == (20, 10)


def test_an_album_has_pictures_for_as_long_as_they_are_shown() -> None:
    album = Album()
    one, other = (album.add(Picture(encoded(picture(2, 2)), "image/png")) for _ in range(2))
    assert other.number != one.number
    assert album.get(one.number) is one
    number = one.number
    del one
    gc.collect()
    assert album.get(number) is None
    assert album.get(other.number) is other
