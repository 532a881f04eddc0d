"""Session lines in a JSONL file: made late, locked while written, never shortened (session format, sections 2 and 6).

An append is one write to a file opened with O_APPEND, so that a program that takes no lock cannot be torn apart either.
Only what a failed append has left of its own line is taken back.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Literal

from piolet.base.files import make_private_folder
from piolet.base.locks import exclusive
from piolet.harness.session.descriptors import Descriptors
from piolet.harness.session.storage import BOM, Change, Line, MemoryStorage, Storage, Text

#: How long an append waits for another process that is appending.
LOCK_SECONDS = 10.0
_CHUNK = 1 << 16
_LONG_CHUNK = 1 << 18  # where all is read: at that size a long file is read fastest
_TAIL = 64  # bytes that are compared to notice that a file was changed in place
_descriptors = Descriptors(limit=64)


class JsonlStorage:
    """One session file. With `draft`, the text of a file that does not exist yet; `begin` makes it."""

    lasting = True

    def __init__(self, path: str, draft: bytes | None = None, *, read_only: bool = False) -> None:
        self.name = self.path = path
        self.torn = False
        self._draft = None if draft is None else MemoryStorage(draft)
        self._read_only = read_only
        self._writable = False
        self._held: int | None = None  # the descriptor while it is locked
        self._identity: tuple[int, int] | None = None  # device and inode of the file that `_end` is about
        self._end = 0  # behind the last line that was given
        self._tail = b""  # what stands before `_end`
        self._unsynced = False  # something was written
        self._unsynced_name = False  # the file was made

    @property
    def place(self) -> str:
        return os.path.realpath(self.path)

    @property
    def saved(self) -> bool:
        return self._draft is None

    def lines(self, *, torn: bool = False) -> Iterator[Line]:
        if self._draft is not None:
            yield from self._draft.lines()
            return
        with self._file() as fd:
            yield from self._read_lines(fd, torn)
            if self._end:
                self._tail = os.pread(fd, min(_TAIL, self._end), max(0, self._end - _TAIL))

    def rewind(self) -> None:
        if self._draft is not None:
            self._draft.rewind()
            return
        with self._file():  # nothing is forgotten if it is gone
            self._end = 0

    def read(self, positions: Iterable[int]) -> Iterator[Text]:
        if self._draft is not None:
            yield from self._draft.read(positions)
            return
        buffer = _Buffer(_CHUNK)
        start = end = 0  # what of the file is in the buffer
        with self._file() as fd:
            for position in positions:
                if not start <= position < end:
                    start = end = position
                while (stop := buffer.bytes.find(b"\n", position - start, end - start)) < 0:
                    if position > start:  # the line goes on: let it begin the buffer
                        buffer.keep(position - start, end - start)
                        start = position
                    got = buffer.fill(fd, end, keep=end - start)
                    end += got
                    if not got:
                        stop = end - start  # a last line without end
                        break
                yield buffer.view[position - start : stop]

    @contextlib.contextmanager
    def locked(self) -> Iterator[Change]:
        if self._draft is not None:
            yield "none"
            return
        if not self._writable:
            _descriptors.close(self)
        while True:
            with _descriptors.use(self, self._open_to_write) as fd, exclusive(fd, LOCK_SECONDS):
                change = self._look(fd)
                if change != "deleted":
                    self._held = fd
                    try:
                        yield change
                    finally:
                        self._held = None
                    return
                self._restore(fd)
            _descriptors.close(self)

    def again(self) -> Storage:
        return JsonlStorage(self.path, read_only=self._read_only)

    def beside(self, id: str, file_name: str, text: bytes) -> Storage:
        return JsonlStorage(os.path.join(os.path.dirname(self.path), file_name), text)

    def write(self, data: bytes) -> None:
        if self._draft is not None:
            self._draft.write(data)
            return
        assert self._held is not None, "writing is for those who hold the lock"
        size = os.fstat(self._held).st_size
        torn = size > 0 and os.pread(self._held, 1, size - 1) != b"\n"
        text = (b"\n" if torn else b"") + (data + b"\n" if data else b"")
        self._unsynced = True
        _append(self._held, text, size)

    def begin(self) -> None:
        if self._draft is None:
            return
        text = self._draft.content()
        make_private_folder(Path(self.path).parent)
        self._identity = create_file(self.path, [text])
        self._end, self._tail, self._writable = len(text), text[-_TAIL:], True
        self._draft = None
        self._unsynced = self._unsynced_name = True

    def sync(self) -> None:
        with contextlib.suppress(FileNotFoundError):  # deleted: there is nothing to wait for
            if self._unsynced:
                with self._file() as fd:
                    os.fsync(fd)
            if self._unsynced_name:
                _sync_folder(os.path.dirname(self.path))
        self._unsynced = self._unsynced_name = False

    def close(self) -> None:
        _descriptors.close(self)

    def _file(self) -> AbstractContextManager[int]:
        if self._held is not None:
            return contextlib.nullcontext(self._held)
        return _descriptors.use(self, self._open)

    def _open(self) -> int:
        """Open the file that `_end` is about; another one in its place will not do."""
        fd = self._open_to_read() if self._read_only else self._open_as_allowed()
        identity = _identity(os.fstat(fd))
        if self._identity not in (None, identity):
            os.close(fd)
            raise FileNotFoundError(errno.ENOENT, "another file stands in its place", self.path)
        self._identity = identity
        return fd

    def _open_as_allowed(self) -> int:
        try:
            return self._open_to_write()
        except OSError as error:
            if error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS):
                raise
            return self._open_to_read()

    def _open_to_read(self) -> int:
        self._writable = False
        return os.open(self.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)  # a pipe at the path is no session

    def _open_to_write(self) -> int:
        fd = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
        self._writable = True
        return fd

    def _read_lines(self, fd: int, torn: bool) -> Iterator[Line]:
        size = os.fstat(fd).st_size
        if size == self._end:
            self.torn = False
            return
        buffer = _Buffer(min(_LONG_CHUNK, max(1, size - self._end)))
        rest = 0  # bytes of a line whose end is not in the buffer yet
        while got := buffer.fill(fd, self._end + rest, keep=rest):
            start, end = 0, rest + got
            if self._end == 0 and bytes(buffer.view[:3]) == BOM:
                start = self._end = len(BOM)
            view, find = buffer.view, buffer.bytes.find
            while (stop := find(b"\n", start, end)) >= 0:
                position, self._end = self._end, self._end + stop + 1 - start
                yield position, view[start:stop]
                start = stop + 1
            rest = end - start
            buffer.keep(start, end)
        self.torn = rest > 0 and not torn
        if rest and torn:
            position, self._end = self._end, self._end + rest
            yield position, buffer.view[:rest]

    def _look(self, fd: int) -> Change | Literal["deleted"]:
        status = os.fstat(fd)
        if self._identity is None:
            self._identity = _identity(status)
        if _identity(status) != self._identity:
            return "rewritten"
        try:
            if _identity(os.stat(self.path)) != self._identity:
                return "replaced"
        except FileNotFoundError:
            return "deleted"
        if status.st_size < self._end or os.pread(fd, len(self._tail), self._end - len(self._tail)) != self._tail:
            return "rewritten"
        return "none"

    def _restore(self, fd: int) -> None:
        """Make the file again, from the deleted one that is still open: the positions stay right."""
        with contextlib.suppress(FileExistsError):  # another process was faster; the next look tells
            self._identity = create_file(self.path, _chunks(fd))
            self._unsynced = self._unsynced_name = True


class _Buffer:
    """Memory that is filled from a file again and again, and grows with the longest line."""

    def __init__(self, size: int) -> None:
        self.bytes = bytearray(size)
        self.view = memoryview(self.bytes)

    def fill(self, fd: int, offset: int, *, keep: int) -> int:
        """Read from `offset` of the file behind the first `keep` bytes, which stay; return how many bytes came."""
        if keep == len(self.bytes):
            self.bytes = self.bytes + bytes(keep)
            self.view = memoryview(self.bytes)
        return os.preadv(fd, [self.view[keep:]], offset)

    def keep(self, start: int, end: int) -> None:
        """Move these bytes to the beginning."""
        self.view[: end - start] = self.view[start:end]


def create_file(path: str, text: Iterable[bytes], *, durable: bool = False) -> tuple[int, int]:
    """Make a file of mode 0600 that must not exist yet; return its device and inode. A failure leaves no file.

    With `durable`, return only when the content is on the disk.
    """
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        for chunk in text:
            _write_all(fd, chunk)
        if durable:
            os.fsync(fd)
        return _identity(os.fstat(fd))
    except BaseException:
        os.unlink(path)
        raise
    finally:
        os.close(fd)


def _sync_folder(folder: str) -> None:
    """Make the names of new files in `folder` durable."""
    fd = os.open(folder or ".", os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _chunks(fd: int) -> Iterator[bytes]:
    offset = 0
    while chunk := os.pread(fd, _CHUNK, offset):
        offset += len(chunk)
        yield chunk


def _append(fd: int, text: bytes, size: int) -> None:
    """Write `text` at the end of a file of `size` bytes. Nothing of it stays if that fails, unless others appended."""
    written = 0
    try:
        while written < len(text):
            written += os.write(fd, text[written:])
    except OSError:
        if written and os.fstat(fd).st_size == size + written:
            with contextlib.suppress(OSError):
                os.ftruncate(fd, size)
        raise


def _write_all(fd: int, text: bytes) -> None:
    rest = memoryview(text)
    while rest:
        rest = rest[os.write(fd, rest) :]


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino
