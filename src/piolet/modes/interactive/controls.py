"""Sequences that tell the terminal something beside the screen: title, progress, clipboard."""

from __future__ import annotations

import base64
import os

from piolet.tui.text import one_line

TITLE_LIMIT = 200
PROGRESS, NO_PROGRESS = "\x1b]9;4;3;0\x1b\\", "\x1b]9;4;0;0\x1b\\"


def window_title(title: str) -> str:
    """Return the sequence that names the window; what is no plain text in `title` is left out."""
    return f"\x1b]0;{one_line(title)[:TITLE_LIMIT]}\x07"


def session_title(name: str | None, cwd: str) -> str:
    """Return the title of the window for a session."""
    return " - ".join(filter(None, ("piolet", name, os.path.basename(cwd) or cwd)))


def clipboard_write(text: str) -> str:
    """Return the sequence that puts `text` into the terminal's clipboard (OSC 52)."""
    return f"\x1b]52;c;{base64.b64encode(text.encode('utf-8', 'replace')).decode()}\x07"
