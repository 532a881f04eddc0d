"""Paths as people write them: relative, from home, as ``file:`` URL."""

from __future__ import annotations

import os


def resolve_path(path: str, base: str, *, home: str | None = None, trim: bool = False, strip_at: bool = False) -> str:
    """Return `path` as an absolute normal form, relative to `base`; ``~`` and ``~/x`` start at `home`.

    `trim` drops blanks around it, `strip_at` one leading ``@`` (as in ``@file`` arguments). Links are not followed.
    ValueError for a ``file:`` URL of another machine.
    """
    if trim:
        path = path.strip()
    if strip_at:
        path = path.removeprefix("@")
    if path.startswith("file://"):
        from urllib.parse import unquote, urlsplit

        url = urlsplit(path)
        if url.netloc not in ("", "localhost"):
            raise ValueError(f"{path} is on another machine")
        path = unquote(url.path)
    elif path == "~" or path.startswith("~/"):
        path = (home or os.path.expanduser("~")) + path[1:]
    return "/" + os.path.normpath(os.path.join(base, path)).lstrip("/")


def is_possible(path: str) -> bool:
    """Whether the system could take `path` at all: no NUL, nothing that is no text."""
    try:
        return b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:
        return False
