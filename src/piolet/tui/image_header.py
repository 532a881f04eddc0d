"""How large an image is, read from the first bytes of its file. Pure; nothing is decoded."""

from __future__ import annotations

#: How many bytes tell the size of nearly every file.
HEAD_BYTES = 65536

_TURNED = range(5, 9)  # orientations in which width and height change places
_ORIENTATION = 0x0112
_STARTS = frozenset({*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC})  # JPEG markers that begin a frame
_BARE = frozenset({0x01, *range(0xD0, 0xD9)})  # JPEG markers without a length


def image_size(head: bytes) -> tuple[int, int] | None:
    """Return width and height in pixels, as seen, of the PNG, JPEG, GIF, WebP or BMP that begins with `head`; None if
    they cannot be told."""
    size = None
    if head.startswith(b"\x89PNG\r\n\x1a\n") and head[12:16] == b"IHDR" and len(head) >= 24:
        size = _big(head, 16, 4), _big(head, 20, 4)
    elif head.startswith((b"GIF87a", b"GIF89a")) and len(head) >= 10:
        size = _little(head, 6, 2), _little(head, 8, 2)
    elif head.startswith(b"BM") and len(head) >= 26:
        size = _little(head, 18, 4), abs(int.from_bytes(head[22:26], "little", signed=True))
    elif head.startswith(b"RIFF") and head[8:12] == b"WEBP" and len(head) >= 30:
        size = _webp(head)
    elif head.startswith(b"\xff\xd8\xff"):
        size = _jpeg(head)
    return size if size and all(0 < side < 1 << 31 for side in size) else None


def _webp(head: bytes) -> tuple[int, int] | None:
    match head[12:16]:
        case b"VP8X":
            return _little(head, 24, 3) + 1, _little(head, 27, 3) + 1
        case b"VP8L":
            bits = _little(head, 21, 4)
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8 ":
            return _little(head, 26, 2) & 0x3FFF, _little(head, 28, 2) & 0x3FFF
        case _:
            return None


def _jpeg(head: bytes) -> tuple[int, int] | None:
    at, turned = 2, False
    while at + 9 <= len(head) and head[at] == 0xFF:
        marker, length = head[at + 1], _big(head, at + 2, 2)
        if marker == 0xFF:  # filling
            at += 1
        elif marker in _BARE:
            at += 2
        elif marker in _STARTS:
            height, width = _big(head, at + 5, 2), _big(head, at + 7, 2)
            return (height, width) if turned else (width, height)
        else:
            if marker == 0xE1 and head[at + 4 : at + 10] == b"Exif\0\0":
                turned = _orientation(head[at + 10 : at + 2 + length]) in _TURNED
            at += 2 + length
    return None


def _orientation(tiff: bytes) -> int:
    """Return the orientation that an Exif block tells; 0: none."""
    order = "little" if tiff.startswith(b"II") else "big"
    read = _little if order == "little" else _big
    start = read(tiff, 4, 4)
    for at in range(start + 2, start + 2 + 12 * read(tiff, start, 2), 12):
        if at + 10 > len(tiff):
            break
        if read(tiff, at, 2) == _ORIENTATION:
            return read(tiff, at + 8, 2)
    return 0


def _big(data: bytes, at: int, size: int) -> int:
    return int.from_bytes(data[at : at + size], "big")


def _little(data: bytes, at: int, size: int) -> int:
    return int.from_bytes(data[at : at + size], "little")
