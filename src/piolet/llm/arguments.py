"""Arguments of tool calls: JSON text that comes in pieces, is shown while it grows, and is judged when it is complete.

Models write raw control characters and impossible escapes into strings; both are repaired. Nothing else is: a call
whose text was cut off must not run with the part that parsed. Source: providers, sections 2 and 12.
"""

from __future__ import annotations

import re
from typing import Any

from piolet.base.json import loads
from piolet.base.regex import compiled_later

EXACT_CHARS = 16_384
"""Up to here every look at growing arguments parses all of them; beyond, only after some growth."""
EXACT_FLAWED_CHARS = 1024
"""The same for text that needs repair, which costs more."""
GROWTH_SHARE = 32
"""The growth that a look beyond waits for: this part of the length."""


class PartialArguments:
    """The growing text of one call's arguments, and the object that it holds so far."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._chars = 0
        self._parsed_chars = 0
        self._exact_chars = EXACT_CHARS
        self._value: dict[str, Any] = {}

    def feed(self, piece: str) -> None:
        """Take the next piece of text."""
        self._pieces.append(piece)
        self._chars += len(piece)

    @property
    def empty(self) -> bool:
        """Whether no text has come yet."""
        return self._chars == 0

    @property
    def text(self) -> str:
        """All text so far."""
        if len(self._pieces) > 1:
            self._pieces = ["".join(self._pieces)]
        return self._pieces[0] if self._pieces else ""

    @property
    def value(self) -> dict[str, Any]:
        """What the prefix says: open strings and containers show what is there. Total work is linear in the text."""
        grown = self._chars - self._parsed_chars
        if grown and (self._chars <= self._exact_chars or grown * GROWTH_SHARE >= self._chars):
            self._parsed_chars = self._chars
            parsed = _parse_prefix(self.text) if self._exact_chars == EXACT_CHARS else None
            if parsed is None:
                parsed = _parse_prefix(repair(self.text))
                self._exact_chars = EXACT_FLAWED_CHARS if parsed is not None else self._exact_chars
            self._value = parsed if parsed is not None else self._value
        return self._value


def _parse_prefix(text: str) -> dict[str, Any] | None:
    """Return the object that begins with `text`, as far as it goes; None if it does not read as one."""
    import jiter

    try:
        value = jiter.from_json(text.encode("utf-8", "replace"), partial_mode="trailing-strings")
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def parse_final(text: str) -> tuple[dict[str, Any], str | None]:
    """Return the object that complete `text` is, and None; or an empty one and what is wrong. Blank text is ``{}``."""
    if not text.strip():
        return {}, None
    problem = ""
    for mend in (str, repair):
        try:
            value = loads(mend(text))
        except ValueError as error:
            problem = problem or str(error)
            continue
        if isinstance(value, dict):
            return value, None
        return {}, f"The arguments are no JSON object: {_shortened(text)}"
    return {}, f"The arguments are no valid JSON ({problem}): {_shortened(text)}"


def _shortened(text: str) -> str:
    return text if len(text) <= 2000 else f"{text[:2000]}… ({len(text)} characters)"


_string = compiled_later(r'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)', re.DOTALL)
_flaw = compiled_later(r'\\u[0-9a-fA-F]{4}|\\["\\/bfnrt]|\\u?|[\x00-\x1f]')


def repair(text: str) -> str:
    """Return JSON text with raw control characters in strings escaped and the backslash of impossible escapes doubled.

    The escape with which the text ends, unfinished, stays as it is: more may come.
    """
    return _string.sub(lambda m: _flaw.sub(lambda flaw: _mended(flaw, text, m.end()), m[0]), text)


_short_escapes = {"\n": r"\n", "\r": r"\r", "\t": r"\t", "\b": r"\b", "\f": r"\f"}
_open_escape = compiled_later(r"\\(?:u[0-9a-fA-F]{0,3})?\Z")


def _mended(flaw: re.Match[str], text: str, string_end: int) -> str:
    found = flaw[0]
    if found < " ":
        return _short_escapes.get(found, f"\\u{ord(found):04x}")
    if found in ("\\", r"\u"):
        at_end = string_end == len(text) and _open_escape.match(flaw.string, flaw.start())
        return found if at_end else f"\\{found}"
    return found
