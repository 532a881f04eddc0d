"""Writing small files whole: whoever reads sees the old text or the new one. Private ones nobody else may read."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path


def make_private_folder(path: Path) -> None:
    """Make `path` and its missing parents with mode 0700; a folder that is there keeps its mode."""
    missing = []
    while not path.is_dir():
        missing.append(path)
        path = path.parent
    for folder in reversed(missing):
        with contextlib.suppress(FileExistsError):
            folder.mkdir(mode=0o700)


def write_private(path: Path, data: bytes) -> None:
    """Replace the content of `path` (a symlink: of its target) at once, with mode 0600. OSError if it cannot be.

    A device or a pipe is written to and stays what it is.
    """
    real = Path(os.path.realpath(path))
    make_private_folder(real.parent)
    _replace(real, data, 0o600)


def replace_file(path: Path, data: bytes) -> None:
    """Replace the content of `path` (a symlink: of its target) at once; its mode stays. The folder must exist."""
    real = Path(os.path.realpath(path))
    try:
        mode = real.stat().st_mode & 0o7777
    except FileNotFoundError:
        mode = None
    _replace(real, data, mode)


def _replace(real: Path, data: bytes, mode: int | None) -> None:
    if real.exists() and not real.is_file():  # a device or a pipe is written to, whoever may replace it
        real.write_bytes(data)
        return
    temporary = real.with_name(f".{real.name}.{os.getpid()}.{os.urandom(4).hex()}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666 if mode is None else 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            if mode is not None:
                os.fchmod(descriptor, mode)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, real)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
