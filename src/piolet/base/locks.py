"""Advisory locks on open files, between processes (``flock``). The one module of this floor that knows fcntl."""

from __future__ import annotations

import errno
import fcntl
import time
from collections.abc import Iterator
from contextlib import contextmanager

#: File systems without locks answer so; there is nobody to wait for then.
_NO_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL)


@contextmanager
def exclusive(fd: int, timeout: float) -> Iterator[None]:
    """Hold the exclusive lock on the open file `fd`. Raises TimeoutError after `timeout` seconds of waiting.

    A file system that has no locks is used without.
    """
    locked = _acquire(fd, timeout)
    try:
        yield
    finally:
        if locked:
            fcntl.flock(fd, fcntl.LOCK_UN)


def try_exclusive(fd: int) -> bool:
    """Take the exclusive lock at once, or return False."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def share(fd: int) -> None:
    """Wait for a shared lock; an exclusive one that was held becomes shared."""
    fcntl.flock(fd, fcntl.LOCK_SH)


def _acquire(fd: int, timeout: float) -> bool:
    deadline = time.monotonic() + timeout
    pause = 0.0005
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise TimeoutError(errno.ETIMEDOUT, "the file stays locked by another process") from None
        except OSError as error:
            if error.errno in _NO_LOCKS:
                return False
            raise
        time.sleep(pause)
        pause = min(pause * 2, 0.02)
