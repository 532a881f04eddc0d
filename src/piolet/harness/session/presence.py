"""Whether another process of this user has a session in use: a lock in the temp folder, next to no session file.

The lock is shared by all who have the session open and goes with their processes, however they end.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import tempfile

from piolet.base.locks import share, try_exclusive


class Presence:
    """Says "in use" of the session at `place` (of a file its real path) to others, until `close`.

    `others`: somebody said so before. Where locks fail, nobody ever does.
    """

    def __init__(self, place: str) -> None:
        self.others = False
        self._fd = -1
        self._path = ""
        with contextlib.suppress(OSError):
            folder = _folder()
            if folder is not None:
                name = hashlib.sha256(os.fsencode(place)).hexdigest()[:32]
                self._path = os.path.join(folder, name)
                while self._fd < 0:
                    self._try()

    def close(self) -> None:
        """Say so no longer. The last one takes the lock file away."""
        if self._fd < 0:
            return
        with contextlib.suppress(OSError):
            if try_exclusive(self._fd):
                os.unlink(self._path)
        os.close(self._fd)
        self._fd = -1

    def _try(self) -> None:
        fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            self.others = not try_exclusive(fd)
            share(fd)
            if os.fstat(fd).st_nlink:
                self._fd = fd
        finally:
            if self._fd < 0:  # locks fail, or who had the file removed it meanwhile
                os.close(fd)


def _folder() -> str | None:
    """Return the folder of the locks, None if it is not ours alone."""
    folder = os.path.join(tempfile.gettempdir(), f"piolet-{os.getuid()}")
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:
        pass
    except OSError:
        return None
    status = os.lstat(folder)
    private = stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid() and not status.st_mode & 0o077
    return folder if private else None
