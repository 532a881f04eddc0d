"""What the bytes of a file are: text in some encoding, an image, or something that is not to be shown as text."""

from __future__ import annotations

import codecs
from typing import Final

#: How many bytes of a file are looked at.
SNIFF_BYTES: Final = 8192

_MARKS: Final = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_BINARIES: Final = (
    (b"%PDF-", "PDF document"),
    (b"PK\x03\x04", "ZIP archive (also office documents, jar, wheel)"),
    (b"PK\x05\x06", "empty ZIP archive"),
    (b"\x1f\x8b", "gzip data"),
    (b"BZh", "bzip2 data"),
    (b"\xfd7zXZ\0", "xz data"),
    (b"\x28\xb5\x2f\xfd", "Zstandard data"),
    (b"7z\xbc\xaf\x27\x1c", "7z archive"),
    (b"Rar!\x1a\x07", "RAR archive"),
    (b"\x7fELF", "ELF program or library"),
    (b"SQLite format 3\0", "SQLite database"),
    (b"II*\0", "TIFF image"),
    (b"MM\0*", "TIFF image"),
    (b"\0\0\x01\0", "icon"),
    (b"\x89PNG\r\n\x1a\n", "animated PNG image"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "Microsoft Office document"),
    (b"OggS", "Ogg media"),
    (b"ID3", "MP3 audio"),
    (b"fLaC", "FLAC audio"),
    (b"\0asm", "WebAssembly module"),
    (b"wOFF", "font"),
    (b"wOF2", "font"),
)


def image_type(head: bytes) -> str | None:
    """Return the media type of the image that begins with `head`; None for what is no image that models take."""
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return None if _is_animated_png(head) else "image/png"
    if head.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if head.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        return "image/webp"
    if head.startswith(b"BM") and len(head) >= 18 and head[6:10] == b"\0\0\0\0":
        return "image/bmp"
    return None


def wide_encoding(head: bytes) -> str | None:
    """Return the encoding that a byte order mark of UTF-16 or UTF-32 announces."""
    return next((name for mark, name in _MARKS if head.startswith(mark)), None)


def binary_kind(head: bytes) -> str | None:
    """Return what the file is that begins with `head` if it should not be shown as text, in a few words."""
    for magic, name in _BINARIES:
        if head.startswith(magic):
            return name
    return "binary data" if b"\0" in head else None


def _is_animated_png(head: bytes) -> bool:
    position = 8
    while position + 8 <= len(head):
        kind = head[position + 4 : position + 8]
        if kind in (b"acTL", b"IDAT"):
            return kind == b"acTL"
        position += 12 + int.from_bytes(head[position : position + 4], "big")
    return False
