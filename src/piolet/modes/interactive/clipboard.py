"""The clipboard of the desktop, through the programs that the system has for it."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress

SECONDS = 3.0  # a program that takes longer is given up
_WAYLAND = (["wl-copy"], ["wl-paste", "--no-newline"])
_X11 = (
    (["xclip", "-selection", "clipboard"], ["xclip", "-selection", "clipboard", "-out"]),
    (["xsel", "--clipboard", "--input"], ["xsel", "--clipboard", "--output"]),
)


def programs(environ: Mapping[str, str] = os.environ) -> tuple[Sequence[str], Sequence[str]] | None:
    """Return the commands that write and read the clipboard; None if there are none here."""
    if sys.platform == "darwin":
        return ["pbcopy"], ["pbpaste"]
    if environ.get("WAYLAND_DISPLAY") and shutil.which("wl-copy"):
        return _WAYLAND
    if environ.get("WSL_DISTRO_NAME") and shutil.which("clip.exe"):
        return ["clip.exe"], ["powershell.exe", "-NoProfile", "-Command", "Get-Clipboard"]
    if environ.get("DISPLAY"):
        return next((pair for pair in _X11 if shutil.which(pair[0][0])), None)
    return None


async def copy(text: str) -> bool:
    """Put `text` into the clipboard; return whether that worked."""
    found = programs()
    return found is not None and await _run(found[0], text.encode("utf-8", "replace")) is not None


async def paste() -> str | None:
    """Return the text in the clipboard; None if it cannot be read."""
    found = programs()
    data = await _run(found[1], None) if found else None
    return None if data is None else data.decode("utf-8", "replace")


async def _run(argv: Sequence[str], data: bytes | None) -> bytes | None:
    """Return what the program writes; None if it fails or takes too long."""
    quiet = asyncio.subprocess.DEVNULL
    try:
        process = await asyncio.create_subprocess_exec(
            *argv,
            stdin=quiet if data is None else asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE if data is None else quiet,  # who copies may stay, holding what it has open
            stderr=quiet,
            start_new_session=True,
        )
    except OSError:
        return None
    try:
        async with asyncio.timeout(SECONDS):
            out, _ = await process.communicate(data)
    except TimeoutError:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
        return None
    return out or b"" if process.returncode == 0 else None
