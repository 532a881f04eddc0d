"""Locks between processes in the form that the original uses too: the lock of ``X`` is the folder ``X.lock``.

``mkdir`` takes it, the holder touches it, and one that nobody touched for a while was left behind by a crash and may be
broken. Source: resources, section 12.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

#: Seconds between two touches of a held lock: well below the shortest time after which anybody calls it stale.
TOUCH_INTERVAL = 3.0
#: Seconds that a reader waits for whoever is writing.
READER_PATIENCE = 2.0


class LockError(Exception):
    """Base of what goes wrong with a lock. The message names the lock's folder."""


class LockBusy(LockError):
    """Somebody else holds the lock, and the time to wait for it is over."""


class LockLost(LockError):
    """The lock was taken away while we held it: what was read under it must not be written."""


class DirLock:
    """One lock. `path` is the file it protects; pass the real path where symlinks to the file shall share the lock."""

    def __init__(self, path: str | os.PathLike[str], *, stale: float = 10.0) -> None:
        self.folder = f"{os.fspath(path)}.lock"
        self._stale = stale
        self._mine: tuple[int, int] | None = None
        self._released = threading.Event()
        self._touching: threading.Thread | None = None

    def try_acquire(self) -> bool:
        """Take the lock if it is free or stale; return whether it is ours now. OSError if the place is not writable."""
        for _ in range(2):
            try:
                os.mkdir(self.folder, 0o700)
            except FileExistsError:
                if not self._break_stale():
                    return False
            else:
                self._mine = _identity(self.folder)
                self._released.clear()
                self._touching = threading.Thread(target=self._touch, name="lock-touch", daemon=True)
                self._touching.start()
                return True
        return False

    def check(self) -> None:
        """Raise `LockLost` if the lock is no longer ours. Call it right before writing."""
        if self._mine is None or _identity(self.folder) != self._mine:
            raise LockLost(f"the lock {self.folder} was taken over by another process; nothing was written, try again")

    def release(self) -> None:
        """Give the lock back, if it is still ours."""
        self._released.set()
        if self._touching is not None:
            self._touching.join()
            self._touching = None
        if self._mine is not None and _identity(self.folder) == self._mine:
            with contextlib.suppress(OSError):
                os.rmdir(self.folder)
        self._mine = None

    def _touch(self) -> None:
        while not self._released.wait(TOUCH_INTERVAL):
            if self._mine is None or _identity(self.folder) != self._mine:
                return
            with contextlib.suppress(OSError):
                os.utime(self.folder)
                self._mine = _identity(self.folder)

    def _break_stale(self) -> bool:
        """Remove the lock if nobody has touched it for the stale time; return whether another try is worth it."""
        seen = _identity(self.folder)
        if seen is None:
            return True
        if time.time() - seen[1] / 1e9 < self._stale:
            return False
        tomb = f"{self.folder}.{os.getpid()}.{os.urandom(4).hex()}"
        try:
            os.rename(self.folder, tomb)
        except FileNotFoundError:
            return True
        if _identity(tomb) != seen:  # somebody was faster, and this is the fresh lock: give it back
            with contextlib.suppress(OSError):
                os.rename(tomb, self.folder)
            return False
        with contextlib.suppress(OSError):
            os.rmdir(tomb)
        return True


@contextmanager
def dir_lock(path: str | os.PathLike[str], *, timeout: float = 0.2, stale: float = 10.0) -> Iterator[DirLock]:
    """Hold the lock of `path`, whose folder must exist; `LockBusy` after `timeout` seconds.

    The first ten tries are 20 ms apart, as the original's are; who waits longer asks less and less often.
    """
    lock = DirLock(path, stale=stale)
    deadline = time.monotonic() + timeout
    tries, pause = 0, 0.02
    while not lock.try_acquire():
        if time.monotonic() >= deadline:
            raise LockBusy(f"{Path(path)} is in use by another process (its lock is {lock.folder})")
        tries += 1
        if tries > 10:
            pause = min(pause * 1.5, 1.0)
        time.sleep(pause)
    try:
        yield lock
    finally:
        lock.release()


def wait_for_writer(path: str | os.PathLike[str]) -> None:
    """Return when nobody holds the lock of `path`, or has for too long.

    The original writes its files in place: who finds one empty or cut off reads it again after this.
    """
    folder, deadline = f"{os.fspath(path)}.lock", time.monotonic() + READER_PATIENCE
    while os.path.isdir(folder) and time.monotonic() < deadline:
        time.sleep(0.01)


def _identity(folder: str) -> tuple[int, int] | None:
    """Inode and modification time in nanoseconds; None if the folder is not there."""
    try:
        found = os.stat(folder)
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_mtime_ns
