"""The text of a file for editing: decoded without loss, in LF form, with the way back to the bytes of the original.

Source: the tools specification, section 4, "Line ends" and the improvements on encodings.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from piolet.harness.tools.content import wide_encoding

BOM: Final = "\ufeff"
_ENDING: Final = re.compile("\r\n|\r|\n")
_ESCAPED: Final = re.compile("[\udc80-\udcff]")
_VALID_WIDE: Final = re.compile("[^\x00-\x7f\udc80-\udcff]")


class UnsuitableText(ValueError):
    """Bytes that cannot be edited as text, or text that the file cannot take; says why."""


class Replacement(Struct, frozen=True):
    """Put `text` (with LF endings) in place of the LF form from `start` to `end`."""

    start: int
    end: int
    text: str


class TextFile:
    """A file as text. `text` is what edits are matched against: LF endings, no byte order mark."""

    def __init__(self, data: bytes) -> None:
        self._encoding = wide_encoding(data) or "utf-8"
        try:
            decoded = data.decode(self._encoding, "surrogateescape" if self._encoding == "utf-8" else "strict")
        except UnicodeDecodeError as error:
            raise UnsuitableText(f"it is not valid {self._encoding.upper()}") from error
        self._bom = BOM if decoded.startswith(BOM) else ""
        self._original = decoded.removeprefix(BOM)
        self._pairs = array("Q")  # positions in `text` of the LFs that are CR LF in the original
        self.text = self._original
        if "\r" in self._original:
            self._pairs.extend(found.start() - i for i, found in enumerate(re.finditer("\r\n", self._original)))
            self.text = to_lf(self._original)

    def replaced(self, replacements: Iterable[Replacement]) -> bytes:
        """Return the bytes with the replacements made, which do not overlap; all other bytes are those of the file.

        An LF in new text becomes the ending that stood at its place: the one with the same number in the replaced
        text, for more of them the ending of the line where the replaced text ends.
        """
        parts, position = [self._bom], 0
        for replacement in sorted(replacements, key=lambda r: r.start):
            self._check_encodable(replacement)
            core = self._without_common_edges(replacement)
            start, end = self._in_original(core.start), self._in_original(core.end)
            parts += [self._original[position:start], self._with_endings(core, start, end)]
            position = end
        parts.append(self._original[position:])
        return "".join(parts).encode(self._encoding, "surrogateescape" if self._encoding == "utf-8" else "strict")

    def _in_original(self, position: int) -> int:
        return position + bisect_left(self._pairs, position)

    def _without_common_edges(self, replacement: Replacement) -> Replacement:
        """Shrink the replacement to what really changes, so that kept lines keep their endings."""
        start, end, text = replacement.start, replacement.end, replacement.text
        old = self.text[start:end]
        head = _common_length(old, text)
        tail = _common_length(old[head:][::-1], text[head:][::-1])
        return Replacement(start + head, end - tail, text[head : len(text) - tail])

    def _with_endings(self, core: Replacement, start: int, end: int) -> str:
        if "\r" not in self._original or "\n" not in core.text:
            return core.text
        endings = _ENDING.findall(self._original, start, end)
        extra = self._ending_at(start, end)
        lines = core.text.split("\n")
        places = [*endings, *[extra] * len(lines)]
        return "".join(line + places[i] for i, line in enumerate(lines[:-1])) + lines[-1]

    def _ending_at(self, start: int, end: int) -> str:
        """Return the ending of the line where new text ends; of the line above if it is the last or a line put in."""
        above = _last_ending(self._original, start)
        if start == end and above is not None and start == above.end():
            return above[0]
        below = _ENDING.search(self._original, end)
        if below is not None:
            return below[0]
        above = _last_ending(self._original, end)
        return above[0] if above is not None else "\n"

    def _check_encodable(self, replacement: Replacement) -> None:
        """A file in an old one-byte or two-byte encoding takes ASCII only; anything else would be in the wrong one."""
        if self._encoding != "utf-8" or replacement.text.isascii() or _ESCAPED.search(self._original) is None:
            return
        if _VALID_WIDE.search(self._original) is None:
            raise UnsuitableText("it is not UTF-8, so that only ASCII text can be put into it")


def to_lf(text: str) -> str:
    """Return `text` with LF for CR LF and for a lone CR."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _common_length(one: str, other: str) -> int:
    """Return how many characters two texts have in common at the front."""
    if one == other:
        return len(one)
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _last_ending(text: str, before: int) -> re.Match[str] | None:
    """Return the last line ending that ends at or before a position."""
    position = max(text.rfind("\n", 0, before), text.rfind("\r", 0, before))
    if position < 0:
        return None
    start = position - 1 if text[position] == "\n" and position and text[position - 1] == "\r" else position
    return _ENDING.match(text, start)
