"""Files of this machine: what `LocalEnvironment` does with them, in plain functions that block."""

from __future__ import annotations

import contextlib
import errno
import os
import stat as stat_bits
from collections.abc import Sequence
from typing import Final

from piolet.harness.environments.base import DirectoryEntry, FileInfo, FileKind, Snapshot

_STEP: Final = 65_536


def canonical(path: str) -> str:
    """Return `path` with links followed."""
    return os.path.realpath(path)


def _kind(mode: int) -> FileKind:
    match stat_bits.S_IFMT(mode):
        case stat_bits.S_IFREG:
            return "file"
        case stat_bits.S_IFDIR:
            return "directory"
        case stat_bits.S_IFLNK:
            return "symlink"
        case stat_bits.S_IFIFO:
            return "fifo"
        case stat_bits.S_IFSOCK:
            return "socket"
        case _:
            return "device"


def stat(path: str, follow: bool) -> FileInfo | None:
    """Return what stands at `path`, None if nothing does. A loop of links is an OSError."""
    try:
        found = os.stat(path, follow_symlinks=follow)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return FileInfo(_kind(found.st_mode), found.st_size, stat_bits.S_IMODE(found.st_mode), found.st_mtime_ns)


def list_directory(path: str) -> list[DirectoryEntry]:
    """Return what is in a folder, in no order."""
    entries = []
    with os.scandir(path) as found:
        for entry in found:
            if entry.is_dir(follow_symlinks=False):
                entries.append(DirectoryEntry(entry.name, "directory"))
            elif entry.is_file(follow_symlinks=False):
                entries.append(DirectoryEntry(entry.name, "file"))
            else:
                entries.append(_special_entry(entry))
    return entries


def _special_entry(entry: os.DirEntry[str]) -> DirectoryEntry:
    try:
        kind = _kind(entry.stat(follow_symlinks=False).st_mode)
    except FileNotFoundError:  # gone since it was listed
        return DirectoryEntry(entry.name, "file")
    if kind != "symlink":
        return DirectoryEntry(entry.name, kind)
    try:
        return DirectoryEntry(entry.name, kind, _kind(entry.stat().st_mode))
    except OSError:  # dangling, a loop, or closed to us
        return DirectoryEntry(entry.name, kind)


def read(path: str, offset: int, limit: int | None) -> bytes:
    """Return the bytes of a regular file from `offset` on, at most `limit`. Anything else is an OSError at once."""
    # Non-blocking: a pipe that nobody writes would hold the open for ever.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb", buffering=0) as file:
        found = os.fstat(descriptor)
        _require_regular(found.st_mode, path)
        if offset:
            file.seek(offset)
        if limit is None:
            return file.readall()
        parts, step = [], max(0, found.st_size - offset) + 1  # no more room than is needed
        while limit > 0 and (part := file.read(min(limit, step))):
            parts.append(part)
            limit -= len(part)
            step = max(step, _STEP)  # it grew, or the system makes it as it is read
        return b"".join(parts)


def write(path: str, data: bytes) -> None:
    """Replace the content of a file in one step, making missing folders. Links, mode, owner and attributes stay."""
    target = os.path.realpath(path)
    try:
        found = os.stat(target)
    except FileNotFoundError:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        found = None
    if found is not None:
        _require_regular(found.st_mode, path)
        if not os.access(target, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        if found.st_nlink > 1 or not os.access(os.path.dirname(target), os.W_OK):
            _write_in_place(target, data)
            return
    _replace(target, data, found)


def _replace(target: str, data: bytes, old: os.stat_result | None) -> None:
    """Write `data` beside `target` and rename it there. Mode and owner of the old file are kept."""
    fresh = os.path.join(os.path.dirname(target), f".piolet-{os.urandom(8).hex()}.tmp")
    descriptor = os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600 if old else 0o666)
    try:
        with open(descriptor, "wb", buffering=0) as file:
            if old is not None:
                with contextlib.suppress(PermissionError):  # only root may give files away
                    os.fchown(descriptor, old.st_uid, old.st_gid)
                os.fchmod(descriptor, stat_bits.S_IMODE(old.st_mode))
                _copy_attributes(target, descriptor)
            _write_all(file.fileno(), data)
        os.rename(fresh, target)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.unlink(fresh)
        if not (isinstance(error, OSError) and error.errno == errno.EBUSY):
            raise
        _write_in_place(target, data)  # the file is a mount of its own


def _copy_attributes(source: str, descriptor: int) -> None:
    """Keep extended attributes, which hold access lists and labels, where the system has them."""
    if not hasattr(os, "listxattr"):
        return
    with contextlib.suppress(OSError):
        for name in os.listxattr(source):
            os.setxattr(descriptor, name, os.getxattr(source, name))


def _write_in_place(target: str, data: bytes) -> None:
    """For a file with several hard links, or in a folder that takes no new file: a rename would part or fail it."""
    descriptor = os.open(target, os.O_WRONLY | os.O_CLOEXEC)
    try:
        _write_all(descriptor, data)
        os.ftruncate(descriptor, len(data))
    finally:
        os.close(descriptor)


def append(path: str, data: bytes) -> None:
    """Add bytes to the end of a file; a new one has mode 0600."""
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        _write_all(descriptor, data)
    finally:
        os.close(descriptor)


def _write_all(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _require_regular(mode: int, path: str) -> None:
    kind = _kind(mode)
    if kind == "directory":
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if kind != "file":
        raise OSError(errno.EINVAL, f"not a regular file but a {kind}", path)


def snapshot(paths: Sequence[str], contents: bool) -> Snapshot:
    """Return stamps, and contents if wanted, of those of `paths` that are regular files we may read."""
    texts: dict[str, bytes] = {}
    stamps: dict[str, tuple[int, int]] = {}
    for path in paths:
        try:
            found = os.stat(path)
            if not stat_bits.S_ISREG(found.st_mode):
                continue
            if contents:
                texts[path] = read(path, 0, None)
        except OSError:
            continue
        stamps[path] = (found.st_mtime_ns, found.st_size)
    return Snapshot(texts, stamps)
