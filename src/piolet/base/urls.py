"""Addresses as they may be shown."""

from __future__ import annotations

import re

_credentials = re.compile(r"(?<!ssh)://[^/\s]*@")


def without_credentials(text: str) -> str:
    """Return `text` without names and passwords in its addresses; the user of an ssh address is no secret."""
    return _credentials.sub("://", text)
