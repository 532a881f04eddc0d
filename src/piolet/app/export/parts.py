"""The files that pages are made of: templates, style sheets and scripts as they are read and written by people."""

from __future__ import annotations

from pathlib import Path

_FOLDER = Path(__file__).with_name("viewer")


def read_part(name: str) -> str:
    """Return the text of a file of the folder ``viewer``."""
    return (_FOLDER / name).read_text("utf-8")
