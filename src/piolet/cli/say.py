"""Lines for the user on standard error: one line each, nothing in them that could drive the terminal."""

from __future__ import annotations

import sys

from piolet.base.ansi import strip_escapes


def warn(text: str) -> None:
    print(f"Warning: {one_line(text)}", file=sys.stderr)


def complain(text: str) -> None:
    print(f"Error: {one_line(text)}", file=sys.stderr)


def one_line(text: str) -> str:
    """Return `text` without line breaks, escape sequences and lone surrogates."""
    return " ".join(strip_escapes(text).split("\n")).encode("utf-8", "replace").decode()
