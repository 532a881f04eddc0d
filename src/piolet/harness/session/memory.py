"""Sessions in the memory of this process, by id: they outlive the objects that use them, but not the process."""

from __future__ import annotations

import errno
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from piolet.base.ids import now_ms, uuid7
from piolet.harness.session.storage import Change, MemoryStorage, Storage
from piolet.harness.session.stores import SessionStore, StoredSession, cwd_in, session_errors


class MemorySessions(SessionStore):
    """A `SessionStore` in memory: for tests, and for a host that keeps sessions elsewhere as JSONL.

    Threads may share it, each with `Session` objects of its own.
    """

    name = "memory"

    def __init__(self) -> None:
        self._kept = _Kept()

    def list(self) -> list[StoredSession]:
        with session_errors("The sessions cannot be listed"), self._kept.writing():
            headers = {id: bytes(text.partition(b"\n")[0]) for id, text in self._kept.texts.items()}
            return [StoredSession(id, cwd_in(headers[id]), ms) for id, ms in reversed(self._kept.changed_ms.items())]

    def close(self) -> None:
        """Nothing is held but memory. The store and its sessions refuse all from then on."""
        self._kept.closed = True

    def _storage(self, id: str, draft: bytes | None = None) -> KeptMemoryStorage:
        return KeptMemoryStorage(self._kept, id, draft)

    def _has(self, id: str) -> bool:
        with self._kept.writing():
            return id in self._kept.texts

    def _remove(self, id: str) -> bool:
        with self._kept.writing():
            self._kept.changed_ms.pop(id, None)
            return self._kept.texts.pop(id, None) is not None


class _Kept:
    """The texts of a store, by session id, and when they changed, the last change last. Who writes has the lock."""

    def __init__(self) -> None:
        self.texts: dict[str, bytearray] = {}
        self.changed_ms: dict[str, int] = {}
        self.place = uuid7()  # another for each store
        self.closed = False
        self._lock = threading.RLock()

    @contextmanager
    def writing(self) -> Iterator[None]:
        with self._lock:
            if self.closed:
                raise OSError(errno.EBADF, "the store of sessions was closed")
            yield

    def note_change(self, id: str) -> None:
        self.changed_ms.pop(id, None)
        self.changed_ms[id] = now_ms()


class KeptMemoryStorage(MemoryStorage):
    """The lines of one session of `MemorySessions`. With `draft`, the text of a new one; `begin` stores it."""

    lasting = True

    def __init__(self, kept: _Kept, id: str, draft: bytes | None = None) -> None:
        super().__init__(draft or b"")
        self.name = f"{id} in memory"
        self.place = f"{kept.place} {id}"
        self.saved = draft is None
        self._kept = kept
        self._id = id
        if draft is None:
            self.text = kept.texts.get(id, self.text)

    @contextmanager
    def locked(self) -> Iterator[Change]:
        with self._kept.writing():
            is_mine = not self.saved or self._kept.texts.get(self._id) is self.text
            yield "none" if is_mine else "rewritten"

    def again(self) -> Storage:
        return KeptMemoryStorage(self._kept, self._id)

    def beside(self, id: str, file_name: str, text: bytes) -> Storage:
        return KeptMemoryStorage(self._kept, id, text)

    def write(self, data: bytes) -> None:
        super().write(data)
        if self.saved:
            self._kept.note_change(self._id)

    def begin(self) -> None:
        with self._kept.writing():
            if self.saved:
                return
            if self._id in self._kept.texts:
                raise FileExistsError(errno.EEXIST, "it exists already")
            self._kept.texts[self._id] = self.text
            self._kept.note_change(self._id)
            self.saved = True
