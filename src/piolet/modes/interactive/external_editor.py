"""Writing a prompt in a program of the user's choice."""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

_FALLBACKS = ("nano", "vi")


def editor_command(setting: str | None, environ: Mapping[str, str] = os.environ) -> list[str]:
    """Return the command of the editor: the setting, ``$VISUAL``, ``$EDITOR``, else nano, or vi where there is none."""
    fallback = next((name for name in _FALLBACKS if shutil.which(name)), _FALLBACKS[0])
    chosen = setting or environ.get("VISUAL") or environ.get("EDITOR") or fallback
    try:
        return shlex.split(chosen) or [fallback]
    except ValueError:
        return [chosen]


async def edit(text: str, command: list[str]) -> str | None:
    """Let the user change `text`; None if the editor did not end well, which leaves it as it was.

    The terminal must have been given away. OSError if the editor cannot be started.
    """
    path = _write(text)
    try:
        process = await asyncio.create_subprocess_exec(*command, str(path))
        return _read(path) if await process.wait() == 0 else None
    finally:
        os.unlink(path)


def _write(text: str) -> Path:
    fd, name = tempfile.mkstemp(prefix="piolet-", suffix=".md")
    with open(fd, "w", encoding="utf-8", errors="replace", newline="") as file:
        file.write(text)
    return Path(name)


def _read(path: Path) -> str:
    return path.read_bytes().decode("utf-8", "replace").removesuffix("\n")
