"""The entries of a session in the order they were written: a storage of lines, and the index of what is in it.

Here is how several processes write to one file, what happens when the disk refuses or the file is changed by others,
and which lines become entries. The log knows neither leaf nor context.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from sys import intern

from msgspec.structs import force_setattr, replace

from piolet.base.collector import collector_paused
from piolet.base.ids import entry_id, now_ms
from piolet.base.json import encode
from piolet.harness.session.entries import VERSION, Entry, Header, MessageEntry
from piolet.harness.session.errors import (
    HistoryChanged,
    InvalidEntry,
    NewerVersion,
    NotASession,
    SessionError,
    WriteFailed,
)
from piolet.harness.session.index import Head, Index, ModelRef
from piolet.harness.session.jsonl import JsonlStorage
from piolet.harness.session.reading import read_entry
from piolet.harness.session.storage import MemoryStorage, Storage, Text
from piolet.llm.messages import AssistantMessage, ToolResultMessage

#: A file of so many bytes is read cursorily if a compaction stands in the last part of it: little of it is needed then.
_LONG = 4_000_000
_COMPACTION = b'\n{"type":"compaction"'


class EntryLog:
    """Lines and what is known of them. `file_ms` stands in for missing times (Unix milliseconds)."""

    def __init__(self, storage: Storage, index: Index, file_ms: int, *, read_only: bool = False) -> None:
        assert index.header is not None, "a log begins with a header"
        self.storage = storage
        self.known = index  # may be cursory, see `index`
        self.header = index.header
        self.file_ms = file_ms
        self._read_only = read_only

    @classmethod
    def over(cls, storage: Storage, *, read_only: bool = False) -> EntryLog:
        """Return the log of what is in `storage`, in version 3 or newer. Raises `NotASession` and OSError."""
        log = cls(storage, _read(storage), now_ms(), read_only=read_only)
        if storage.torn:
            log._end_last_line()
        return log

    @classmethod
    def open(cls, path: str, new_header: Callable[[], Header], *, read_only: bool = False) -> EntryLog:
        """Return the log in the file at `path`; an empty file gets a `new_header` first.

        Old versions are migrated, an unfinished last line is ended; with `read_only` nothing is written. Raises
        `NotASession` and OSError.
        """
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode):
            raise NotASession(f"{path} is not a file")
        if status.st_size == 0 and not read_only:
            _start(JsonlStorage(path), new_header())
        storage: Storage = JsonlStorage(path, read_only=read_only)
        index = _read(storage, cursory=status.st_size > _LONG and _is_compacted(path, status.st_size))
        assert index.header is not None
        if index.header.version < VERSION:
            from piolet.harness.session.migration import migrate_file, migrated_text

            storage.close()
            if read_only:
                storage = MemoryStorage(migrated_text(path))
            else:
                migrate_file(path)
                storage = JsonlStorage(path)
            index = _read(storage)
        log = cls(storage, index, status.st_mtime_ns // 1_000_000, read_only=read_only)
        if storage.torn or not log._is_last_sound():
            log._check()
        if storage.torn:
            log._end_last_line()
        return log

    # ------------------------------------------------------------------------------------------------------ reading

    @property
    def index(self) -> Index:
        """All that is known. Of a long file every line is read now, if that was not necessary so far."""
        if self.known.cursory:
            self._check()
        return self.known

    @property
    def last_id(self) -> str | None:
        """The id of the last entry; None if there is none."""
        return self.known.heads[-1].id if self.known.heads else None

    def find(self, id: str) -> Entry | None:
        """Return the entry of that id (of duplicates the later), None if there is none."""
        while True:
            head = self.known.by_id.get(id)
            try:
                return None if head is None else self.entries([head])[0]
            except HistoryChanged:
                if not self.known.cursory:
                    raise
                self._check()

    def model_of(self, head: Head) -> ModelRef | None:
        """Return the model that an entry puts in use, None if it does not."""
        if not self.known.cursory or head.role != "assistant":
            return head.model
        [entry] = self.entries([head])
        message = entry.message if isinstance(entry, MessageEntry) else None
        if not isinstance(message, AssistantMessage) or not message.model:
            return None
        return ModelRef(message.provider, message.model)

    def _is_last_sound(self) -> bool:
        try:
            return not self.known.cursory or not self.known.heads or bool(self.entries(self.known.heads[-1:]))
        except HistoryChanged:
            return False

    def _check(self) -> None:
        """Read every line. Raises `HistoryChanged`."""
        index = Index()
        try:
            self.storage.rewind()
            index.add_all(self.storage.lines())
        except OSError as error:
            raise _unreadable(self.storage, error) from error
        if index.header is None or index.header.id != self.header.id:
            raise self._changed()
        self.known = index

    def lines(self, heads: Sequence[Head]) -> list[bytes]:
        """Return the lines of entries as they are stored, without the line feeds. Raises `HistoryChanged`."""
        return [bytes(text) for text in _texts(self.storage, heads)]

    def entries(self, heads: Sequence[Head]) -> list[Entry]:
        """Return the entries of `heads`. Raises `HistoryChanged`."""
        return self.reader()(heads)

    def reader(self) -> Callable[[Sequence[Head]], list[Entry]]:
        """Return a function like `entries` for the heads that there are now, also when the file is replaced later."""
        storage = self.storage

        def read(heads: Sequence[Head]) -> list[Entry]:
            with collector_paused():
                return [self._entry(text, head) for text, head in zip(_texts(storage, heads), heads, strict=True)]

        return read

    def _entry(self, text: Text, head: Head) -> Entry:
        try:
            entry = read_entry(text, self.file_ms)
        except ValueError:
            entry = None
        if entry is None or entry.id != head.id:
            raise self._changed()
        if isinstance(entry, MessageEntry):
            message = entry.message
            # Strings that are there already: of a long session they would be a tenth of its memory.
            force_setattr(entry, "id", head.id)
            force_setattr(entry, "parent_id", head.parent_id)
            if isinstance(message, AssistantMessage):
                force_setattr(message, "api", intern(message.api))
                force_setattr(message, "provider", intern(message.provider))
                force_setattr(message, "model", intern(message.model))
            elif isinstance(message, ToolResultMessage) and not message.tool_name:
                name = self._called_tool(message.tool_call_id, head.parent_id)
                entry = replace(entry, message=replace(message, tool_name=name))
        return entry

    def _changed(self) -> HistoryChanged:
        return HistoryChanged(f"{self.storage.name} was changed by another program; open it again")

    def _called_tool(self, call_id: str, leaf: str | None) -> str:
        """Return the name of the tool that was called with that id in the turns before `leaf`; empty if none was."""
        for head in self.known.ancestors(leaf):
            if head.role == "user":
                break
            [entry] = self.entries([head]) if head.role == "assistant" else [None]
            if isinstance(entry, MessageEntry) and isinstance(entry.message, AssistantMessage):
                for call in entry.message.tool_calls:
                    if call.id == call_id:
                        return call.name
        return ""

    # ---------------------------------------------------------------------------------------------------- appending

    def append(self, make: Callable[[str], Entry], leaf: str | None) -> str:
        """Append the entry that `make` gives for a new id; return the id. It is stored, or nothing has changed.

        `leaf` names the branch in use: it is written again where the file was replaced by one that lacks it. Raises
        `WriteFailed`, `InvalidEntry`, `HistoryChanged`, `NewerVersion`.
        """
        self.check_writable()
        try:
            with self._exclusive(leaf):
                entry = make(entry_id(self.known.by_id))
                self.storage.write(_line(entry))
                self.known.add_all(self.storage.lines())
        except OSError as error:
            raise self._write_failed(error) from error
        return entry.id

    def begin(self) -> None:
        """Make the file, with everything so far. May be called again; a file that others made is never touched."""
        self.check_writable()
        try:
            self.storage.begin()
        except FileExistsError as error:
            raise WriteFailed(f"{self.storage.name} exists already and was not made by this session") from error
        except OSError as error:
            raise self._write_failed(error) from error

    def sync(self) -> None:
        """Wait until everything is on the disk."""
        try:
            self.storage.sync()
        except OSError as error:
            raise self._write_failed(error) from error

    def close(self) -> None:
        """Wait until everything is on the disk and give back the file."""
        try:
            self.sync()
        finally:
            self.storage.close()

    def check_writable(self) -> None:
        """Raise the reason why nothing may be appended, if there is one."""
        path = self.storage.name
        if self.header.version > VERSION:
            raise NewerVersion(
                f"{path} is of version {self.header.version}; this program writes version {VERSION} and leaves it as "
                "it is. Update this program to go on with it"
            )
        if self._read_only:
            raise SessionError(f"{path} was opened for reading only")

    @contextmanager
    def _exclusive(self, leaf: str | None) -> Iterator[None]:
        """Keep other writers out, and know all that they have written."""
        rescued: dict[str, bytes] = {}
        while True:
            with self.storage.locked() as change:
                if change == "none":
                    self.known.add_all(self.storage.lines())
                    for id, line in rescued.items():
                        if id not in self.known.by_id:
                            self.storage.write(line)
                            self.known.add_all(self.storage.lines())
                    yield
                    return
                if change == "replaced":
                    path = self.known.path(leaf)
                    rescued |= zip((head.id for head in path), self.lines(path), strict=True)
            self._turn_to_changed_file(leaf, rescued)

    def _turn_to_changed_file(self, leaf: str | None, rescued: Mapping[str, bytes]) -> None:
        """Use what now stands at the path, if it is this session. `rescued` lines will be written if it lacks them."""
        path = self.storage.name
        storage, index = self.storage.again(), Index()
        if not index.add_all(storage.lines()) or index.header is None or index.header.id != self.header.id:
            storage.close()
            raise HistoryChanged(f"{path} is no longer the file of session {self.header.id}; nothing was stored")
        self.storage.close()
        self.storage, self.known = storage, index
        if leaf is not None and leaf not in index.by_id and leaf not in rescued:
            raise HistoryChanged(
                f"{path} was changed by another program, and the branch in use is not in it any more; nothing was "
                "stored, and the session goes on from the last entry of the file"
            )

    def _end_last_line(self) -> None:
        """End the unfinished last line, so that the next append stands on its own."""
        try:
            self.check_writable()
            with self._exclusive(None):
                self.storage.write(b"")
                self.known.add_all(self.storage.lines())
        except (SessionError, OSError):  # it can be read all the same
            self.known.add_all(self.storage.lines(torn=True))
        self.known.mark_torn()

    def _write_failed(self, error: OSError) -> WriteFailed:
        reason = error.strerror or str(error)
        return WriteFailed(f"Session {self.storage.name} cannot be written: {reason}. The entry was not stored")


def _is_compacted(path: str, size: int) -> bool:
    with open(path, "rb") as file:
        file.seek(size - _LONG // 2)
        return _COMPACTION in file.read()


def _texts(storage: Storage, heads: Sequence[Head]) -> Iterator[Text]:
    try:
        yield from storage.read(head.position for head in heads)
    except OSError as error:
        raise _unreadable(storage, error) from error


def _unreadable(storage: Storage, error: OSError) -> HistoryChanged:
    return HistoryChanged(f"{storage.name} can no longer be read: {error.strerror}")


def _line(entry: Entry) -> bytes:
    try:
        return encode(entry)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidEntry(f"A {entry.type} entry cannot be stored: {error}") from error


def _start(storage: Storage, header: Header) -> None:
    with storage.locked():
        if not any(True for _ in storage.lines()) and not storage.torn:
            storage.write(encode(header))
    storage.close()


def _read(storage: Storage, *, cursory: bool = False) -> Index:
    index = Index(cursory=cursory)
    if not index.add_all(storage.lines()) or index.header is None:
        raise NotASession(
            f"{storage.name} is not a session file: it does not begin with a session header. It was left as it is"
        )
    return index
