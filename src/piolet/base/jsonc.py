"""Read JSON that people write by hand: comments and trailing commas are tolerated."""

from __future__ import annotations

import json
import re
from typing import Any

from piolet.base.regex import compiled_later

# Strings come first, so that nothing inside one counts as a comment or comma.
_piece = compiled_later(
    r'"(?:[^"\\]|\\.)*"|//[^\r\n]*|/\*.*?\*/|,(?=(?>\s+|//[^\r\n]*|/\*.*?\*/)*+[}\]])',
    re.DOTALL,
)


def loads(text: str) -> Any:
    """Return the value of `text`; `json.JSONDecodeError` (a ValueError) with line and column if it has none.

    ValueError for nesting beyond reason.
    """
    try:
        return json.loads(_piece.sub(_blank, text.removeprefix("\ufeff")))
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _blank(match: re.Match[str]) -> str:
    piece = match[0]
    return piece if piece.startswith('"') else re.sub(r"[^\r\n]", " ", piece)
