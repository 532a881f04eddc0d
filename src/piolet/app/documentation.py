"""The folders with piolet's own documentation and examples, which the model may read when asked about piolet."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]


def documentation_folder(name: str) -> str | None:
    """Return the folder "docs" or "examples": inside the installed package, else of the checkout; None without it."""
    for folder in (_PACKAGE / name, _PACKAGE.parents[1] / name):
        if folder.is_dir():
            return str(folder)
    return None
