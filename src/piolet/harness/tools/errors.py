"""What tools raise, and how the errors of files are worded for a model."""

from __future__ import annotations

import errno
from typing import Final

_WORDS: Final = {
    errno.ENOENT: "no such file or directory",
    errno.EACCES: "permission denied",
    errno.EPERM: "operation not permitted",
    errno.EISDIR: "illegal operation on a directory",
    errno.ENOTDIR: "not a directory",
    errno.EEXIST: "file already exists",
    errno.ELOOP: "too many symbolic links encountered",
    errno.ENAMETOOLONG: "name too long",
    errno.ENOSPC: "no space left on device",
    errno.EROFS: "read-only file system",
    errno.E2BIG: "argument list too long",
}


class ToolError(Exception):
    """A call that failed in a way the model should know about; the text is for the model."""


def error_code(error: OSError) -> str:
    """Return the symbolic name of the error number (``ENOENT``), ``EIO`` if there is none."""
    return errno.errorcode.get(error.errno or errno.EIO, "EIO")


def describe(error: OSError, operation: str, path: str) -> str:
    """Return ``ENOENT: no such file or directory, access '/abs/path'``."""
    words = _WORDS.get(error.errno or 0) or error.strerror or str(error)
    return f"{error_code(error)}: {words}, {operation} '{path}'"
