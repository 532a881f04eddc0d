"""The clipboard of the desktop, through the programs that the system has for it."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from urllib.parse import unquote, urlsplit

from piolet.base.files import write_private
from piolet.base.ids import uuid7

SECONDS = 3.0  # a program that takes longer is given up
# How files of each kind end and begin.
_PICTURES = {
    "image/png": (".png", b"\x89PNG"),
    "image/jpeg": (".jpg", b"\xff\xd8"),
    "image/webp": (".webp", b"RIFF"),
    "image/gif": (".gif", b"GIF8"),
}
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


async def paste_path() -> str | None:
    """Return the paths of the files in the clipboard, or that of a new private file with its picture; None: it has
    neither, or cannot be asked for them.
    """
    listed = await _read_as("text/uri-list") or b""
    uris = [line for line in listed.decode("utf-8", "replace").splitlines() if line.startswith("file://")]
    if uris:
        return " ".join(unquote(urlsplit(uri).path) for uri in uris)
    import tempfile

    for kind, (ending, beginning) in _PICTURES.items():
        data = await _read_as(kind)
        if data and data.startswith(beginning):
            path = os.path.join(tempfile.gettempdir(), f"pi-clipboard-{uuid7()}{ending}")
            write_private(Path(path), data)
            return path
    return None


async def _read_as(kind: str) -> bytes | None:
    """Return the clipboard in one of the forms that it is kept in; None if it is not kept so."""
    found = programs()
    choose = {"wl-paste": "--type", "xclip": "-target"}.get(found[1][0]) if found else None
    return await _run([*found[1], choose, kind], None) if found and choose else None


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
