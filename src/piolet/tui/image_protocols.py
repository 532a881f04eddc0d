"""The sequences by which terminals draw images: the Kitty graphics protocol and iTerm2's inline images. Pure.

Sixel graphics are in `piolet.tui.sixel`. No sequence moves the cursor, and none asks the terminal for an answer.
"""

from __future__ import annotations

import base64

_CHUNK = 4096  # of base64 in one sequence of Kitty's


def kitty_send(number: int, png: bytes) -> str:
    """Return what hands a PNG to the terminal, to be shown later; one of the same number goes."""
    data = base64.b64encode(png).decode()
    pieces = [data[at : at + _CHUNK] for at in range(0, len(data), _CHUNK)]
    return "".join(
        _kitty(f"{f'a=t,f=100,i={number},q=2,' if at == 0 else ''}m={int(at + 1 < len(pieces))}", piece)
        for at, piece in enumerate(pieces)
    )


def kitty_show(number: int, place: int, cells: tuple[int, int], part: tuple[int, int, int, int]) -> str:
    """Return what shows a part (x, y, width and height in pixels) of an image at the cursor, over so many columns and
    rows; what was shown by the same number and `place` goes."""
    x, y, width, height = part
    return _kitty(
        f"a=p,i={number},p={place},x={x},y={y},w={width},h={height},c={cells[0]},r={cells[1]},C=1,q=2",
    )


def kitty_hide(number: int, place: int) -> str:
    """Return what takes away what is shown at one place."""
    return _kitty(f"a=d,d=i,i={number},p={place},q=2")


def kitty_forget(number: int) -> str:
    """Return what takes away an image wherever it is shown, and its data."""
    return _kitty(f"a=d,d=I,i={number},q=2")


def _kitty(keys: str, data: str = "") -> str:
    return f"\x1b_G{keys};{data}\x1b\\" if data else f"\x1b_G{keys}\x1b\\"


def iterm2(file: bytes, cells: tuple[int, int]) -> str:
    """Return what draws an image file at the cursor, over so many columns and rows."""
    arguments = f"inline=1;size={len(file)};width={cells[0]};height={cells[1]}"
    data = base64.b64encode(file).decode()
    return f"\x1b]1337;File={arguments};preserveAspectRatio=0;doNotMoveCursor=1:{data}\x07"
