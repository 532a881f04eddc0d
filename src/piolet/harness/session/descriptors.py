"""Few open files for many sessions: those not used for the longest time are closed and opened again when needed."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock


class Descriptors:
    """Open file descriptors by owner, at most `limit` besides those in use. Safe to use from any thread."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._open: OrderedDict[object, int] = OrderedDict()
        self._users: dict[object, int] = {}
        self._lock = Lock()
        os.register_at_fork(after_in_child=self._forget_all)  # a lock on a shared descriptor would lock nobody out

    @contextmanager
    def use(self, owner: object, open_file: Callable[[], int]) -> Iterator[int]:
        """Give the descriptor of `owner`, from `open_file` if it has none; it stays open for the `with` block."""
        with self._lock:
            fd = self._open.pop(owner, None)
            if fd is None:
                fd = open_file()
            self._open[owner] = fd
            self._users[owner] = self._users.get(owner, 0) + 1
        try:
            yield fd
        finally:
            with self._lock:
                self._users[owner] -= 1
                if not self._users[owner]:
                    del self._users[owner]
                idle = [other for other in self._open if other not in self._users]
                for other in idle[: max(0, len(self._open) - self._limit)]:
                    os.close(self._open.pop(other))

    def close(self, owner: object) -> None:
        """Close the descriptor of `owner`, if it has one."""
        with self._lock:
            fd = self._open.pop(owner, None)
            if fd is not None:
                os.close(fd)

    def _forget_all(self) -> None:
        self._lock = Lock()
        for fd in self._open.values():
            os.close(fd)
        self._open.clear()
        self._users.clear()
