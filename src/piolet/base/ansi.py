"""Text without the sequences that drive a terminal: for what models, tools and files hand us."""

from __future__ import annotations

from piolet.base.regex import compiled_later

_controls = compiled_later(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
# In this order; bodies stop at what may begin another sequence, so that the search stays linear.
_sequences = compiled_later(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*(?:[@-~]|\Z)"  # CSI, cut off or not
    r"|(?:\x1b\]|\x9d)[^\x07\n\x1b\x80-\x9f]*(?:\x07|\x1b\\|\x9c|\Z)"  # OSC, on one line
    r"|(?:\x1b[PX^_]|[\x90\x98\x9e\x9f])[^\x1b\x80-\x9f]*(?:\x1b\\|\x9c)"  # DCS, SOS, PM, APC
    r"|\x1b[ -/]*[0-~]?"  # every other sequence; of a body without end only the opening
    r"|[\x00-\x08\x0b-\x1f\x7f-\x9f]"
)


def strip_escapes(text: str) -> str:
    """Return `text` without escape sequences, C0 controls except tab and line feed, DEL and C1 controls.

    CR LF becomes LF, a lone CR goes. A string sequence without an end loses its opening only, its text stays to be
    seen; one that the end of `text` cuts off goes whole.
    """
    return _sequences.sub("", text) if _controls.search(text) else text
