"""What a terminal that draws images makes of what is written to it: sequences read back into pixels and places."""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from PIL import Image

_kitty = re.compile(rb"\x1b_G([^;\x1b]*)(?:;([^\x1b]*))?\x1b\\")
_iterm2 = re.compile(rb"\x1b\]1337;File=([^:]*):([^\x07]*)\x07")
_sixel = re.compile(rb'\x1bP0;1;0q"1;1;(\d+);(\d+)([^\x1b]*)\x1b\\')
_sixel_token = re.compile(r"#(\d+)(?:;2;(\d+);(\d+);(\d+))?|!(\d+)([?-~])|([?-~])|(\$)|(-)")
_moved = re.compile(rb"\x1b\[(\d+);(\d+)H\Z")


def picture(width: int, height: int, color: str = "red", kind: str = "PNG") -> bytes:
    """Return an image file of one colour."""
    target = io.BytesIO()
    Image.new("RGB", (width, height), color).save(target, kind)
    return target.getvalue()


@dataclass
class KittyTerminal:
    """The images that a terminal holds, and what of them it shows: by number and place the row and column of the cell
    (None: where the cursor was) and the arguments."""

    images: dict[int, Image.Image] = field(default_factory=dict)
    shown: dict[tuple[int, int], tuple[tuple[int, int] | None, dict[str, str]]] = field(default_factory=dict)

    @classmethod
    def of(cls, output: bytes) -> KittyTerminal:
        """Return one that was written `output`."""
        terminal = cls()
        pending = b""
        number = 0
        for match in _kitty.finditer(output):
            keys = dict(pair.split("=", 1) for pair in match[1].decode().split(","))
            match keys.get("a", "m"):
                case "t" | "m":
                    number = int(keys.get("i", number))
                    pending += match[2] or b""
                    if keys.get("m") != "1":
                        terminal._take(number, pending)
                        pending = b""
                case "p":
                    at = _moved.search(output[max(0, match.start() - 12) : match.start()])
                    where = (int(at[1]) - 1, int(at[2]) - 1) if at else None
                    assert int(keys["i"]) in terminal.images
                    terminal.shown[int(keys["i"]), int(keys["p"])] = where, keys
                case "d":
                    terminal._drop(keys)
                case other:
                    raise AssertionError(f"an unknown action: {other}")
        return terminal

    def _take(self, number: int, data: bytes) -> None:
        self.shown = {key: value for key, value in self.shown.items() if key[0] != number}
        self.images[number] = Image.open(io.BytesIO(base64.b64decode(data, validate=True)))
        self.images[number].load()

    def _drop(self, keys: dict[str, str]) -> None:
        number = int(keys["i"])
        for key in [key for key in self.shown if key[0] == number and int(keys.get("p", key[1])) == key[1]]:
            del self.shown[key]
        if keys["d"] == "I":
            self.images.pop(number, None)


def iterm2_images(output: bytes) -> Iterator[tuple[dict[str, str], Image.Image]]:
    """Yield the images drawn in iTerm2's way: arguments and pixels."""
    for match in _iterm2.finditer(output):
        keys = dict(pair.split("=", 1) for pair in match[1].decode().split(";"))
        data = base64.b64decode(match[2], validate=True)
        assert int(keys["size"]) == len(data)
        yield keys, Image.open(io.BytesIO(data))


def sixel_images(output: bytes) -> Iterator[Image.Image]:
    """Yield the sixel graphics as pixels; those that are not set are transparent."""
    for match in _sixel.finditer(output):
        yield _sixel_pixels(int(match[1]), int(match[2]), match[3].decode())


def _sixel_pixels(width: int, height: int, data: str) -> Image.Image:
    image = Image.new("RGBA", (width, height))
    palette: dict[str, tuple[int, int, int, int]] = {}
    x = top = 0
    color = ""
    tokens = list(_sixel_token.finditer(data))
    assert "".join(token[0] for token in tokens) == data
    for token in tokens:
        register, red, green, blue, count, repeated, single, back, down = token.groups()
        if register is not None:
            color = register
            if red is not None:
                palette[color] = (round(int(red) * 2.55), round(int(green) * 2.55), round(int(blue) * 2.55), 255)
        elif back or down:
            x, top = 0, top + (6 if down else 0)
        else:
            bits = ord(repeated or single) - 63
            end = x + int(count or 1)
            assert end <= width, "a row is too long"
            for bit in range(6):
                if bits >> bit & 1:
                    assert top + bit < height, "a pixel is below the image"
                    image.paste(palette[color], (x, top + bit, end, top + bit + 1))
            x = end
    return image
