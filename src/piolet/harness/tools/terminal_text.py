"""What a program wrote for a terminal, as plain text: no escape sequences, no control characters but TAB and LF.

Source: the tools specification, section 3. Works on a stream, where a chunk may end inside a character or a sequence.
"""

from __future__ import annotations

import codecs
from typing import Final

from piolet.base.regex import compiled_later

_CONTROL_STRING: Final = r"(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\n]*"
_SEQUENCE: Final = compiled_later(
    rf"{_CONTROL_STRING}(?:\x07|\x1b\\|\x9c)"  # OSC, DCS, SOS, PM, APC
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI
    r"|\x1b[ -/]*[0-~]"  # the others
)
_UNFINISHED: Final = compiled_later(rf"(?:{_CONTROL_STRING}\x1b?|(?:\x1b\[|\x9b)[0-?]*[ -/]*|\x1b[ -/]*)\Z")
_CONTROL: Final = compiled_later(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
#: A sequence that has not ended after so many characters is taken for text.
_PATIENCE: Final = 4096


def plain_text(text: str) -> str:
    """Return `text` without escape sequences and control characters; CR LF becomes LF."""
    return _CONTROL.sub("", _SEQUENCE.sub("", text))


class TerminalText:
    """Decodes one stream of UTF-8, bad bytes as U+FFFD, and makes it plain."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._held = ""

    def feed(self, data: bytes) -> str:
        """Return the plain text that `data` adds; the beginning of a sequence is held back."""
        text = self._held + self._decoder.decode(data)
        unfinished = _UNFINISHED.search(text)
        self._held = unfinished[0] if unfinished and len(unfinished[0]) <= _PATIENCE else ""
        return plain_text(text.removesuffix(self._held))

    def finish(self) -> str:
        """Return what was held back."""
        text, self._held = self._held + self._decoder.decode(b"", final=True), ""
        return plain_text(text)
