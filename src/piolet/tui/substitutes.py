"""What stands for characters that a terminal's encoding lacks, in as many cells. Importing it registers the error
handler `SUBSTITUTES` for encoders."""

from __future__ import annotations

import codecs
import unicodedata

from piolet.tui import text as cells

SUBSTITUTES = "piolet.substitutes"

_ASCII = {
    ord(character): ascii_
    for characters, ascii_ in {
        "─━═–—": "-",
        "│┃║▌▐": "|",
        "•·": "*",
        "…": ".",
        "↑": "^",
        "↓✓": "v",
        "←‹": "<",
        "→›↳": ">",
        "✗": "x",
        "“”„": '"',
        "‘’": "'",
        "█▓▒░": "#",
    }.items()
    for character in characters
}


def substitute(error: UnicodeError) -> tuple[str, int]:
    """Return ASCII for what cannot be encoded, and where to go on."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(map(_ascii, error.object[error.start : error.end])), error.end


def _ascii(character: str) -> str:
    found = character.translate(_ASCII)
    if "\u2500" <= found <= "\u257f":  # corners and crossings
        return "+"
    if "\u2800" <= found <= "\u28ff":  # Braille: signs that turn
        return "*"
    if found.isascii():
        return found
    width = cells.width(character)
    base = unicodedata.normalize("NFKD", character)[:1]
    return base if base.isascii() and base and width == 1 else "?" * width


codecs.register_error(SUBSTITUTES, substitute)
