"""A session: an append-only tree of entries, and the leaf where the next one is attached.

It works on the index and decodes entries when they are asked for. Where its lines live is the matter of a storage.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from sys import intern
from types import EllipsisType, TracebackType
from typing import Any

from msgspec.structs import force_setattr
from msgspec.structs import replace as with_fields

from piolet.base.collector import collector_paused
from piolet.base.files import make_private_folder
from piolet.base.ids import entry_id, iso_time, now_ms
from piolet.base.json import encode
from piolet.harness.messages import (
    BranchSummaryMessage,
    CompactionSummaryMessage,
    CustomMessage,
)
from piolet.harness.session.context import SessionContext, assemble, entry_ms, select
from piolet.harness.session.entries import (
    VERSION,
    BranchSummaryEntry,
    CompactionEntry,
    ContextEditEntry,
    CustomEntry,
    CustomMessageEntry,
    Entry,
    Header,
    LabelEntry,
    MessageEntry,
    ModelChangeEntry,
    Replacement,
    SessionInfoEntry,
    StoredMessage,
    ThinkingLevelChangeEntry,
    UsageEntry,
)
from piolet.harness.session.errors import (
    HistoryChanged,
    InvalidEntry,
    NewerVersion,
    NotASession,
    SessionError,
    UnknownEntry,
    WriteFailed,
)
from piolet.harness.session.index import Head, Index, Label, Problem
from piolet.harness.session.jsonl import JsonlStorage
from piolet.harness.session.migration import migrate_file, migrated_text
from piolet.harness.session.naming import file_name, session_id
from piolet.harness.session.reading import read_entry
from piolet.harness.session.storage import MemoryStorage, Storage, Text
from piolet.harness.session.totals import Totals
from piolet.harness.session.tree import TreeNode, build_tree
from piolet.llm.messages import AssistantMessage, TextContent, ToolResultMessage, Usage, UserBlock

_LINE_BREAKS = re.compile(r"[\r\n]+")
_EDITABLE_ROLES = ("user", "assistant", "toolResult", "custom")


class Session:
    """One session. Every append is a child of the leaf and becomes the leaf; what it returned is stored.

    Made by `create`, `open` or `in_memory`. Not for several threads at once. Appending raises `WriteFailed` when the
    disk refuses, and leaves everything as it was.
    """

    def __init__(self, storage: Storage, index: Index, *, cwd: str, file_ms: int, read_only: bool = False) -> None:
        self._storage = storage
        self._index = index
        self._header = _header(index)
        self._cwd = cwd
        self._file_ms = file_ms
        self._read_only = read_only
        self._leaf = index.heads[-1].id if index.heads else None

    # ------------------------------------------------------------------------------------------------------- making

    @classmethod
    def create(cls, cwd: str, folder: str, id: str | None = None, parent_session: str | None = None) -> Session:
        """Return a new session of `folder`, which is made if it is missing. The file is made by `begin`."""
        header = new_header(cwd, id, parent_session)
        try:
            make_private_folder(Path(folder))
        except OSError as error:
            raise WriteFailed(f"The session folder {folder} cannot be made: {error.strerror}") from error
        return cls.draft(header, os.path.join(folder, file_name(header.timestamp or "", header.id)))

    @classmethod
    def in_memory(cls, cwd: str, id: str | None = None) -> Session:
        """Return a new session that never has a file."""
        return cls.draft(new_header(cwd, id), None)

    @classmethod
    def draft(cls, header: Header, path: str | None, lines: Sequence[bytes] = (), *, cwd: str | None = None) -> Session:
        """Return a session with the given lines that will be at `path` when it begins; in memory if that is None."""
        text = b"".join(line + b"\n" for line in (encode(header), *lines))
        storage: Storage = MemoryStorage(text) if path is None else JsonlStorage(path, text)
        index = Index()
        index.add_all(storage.lines())
        return cls(storage, index, cwd=cwd or header.cwd or os.getcwd(), file_ms=now_ms())

    @classmethod
    def open(cls, path: str, cwd_override: str | None = None, *, read_only: bool = False) -> Session:
        """Open the session file at `path`; it runs in `cwd_override` if that is given.

        A missing file is a new session at exactly this path; an empty one gets a header. Old versions are migrated,
        an unfinished last line is ended; with `read_only` the file is not touched, and appending fails. Raises
        `NotASession` when there is something else, which stays as it is.
        """
        path = os.path.abspath(path)
        try:
            if not os.path.lexists(path) and not read_only:
                return cls.draft(new_header(cwd_override or os.getcwd()), path)
            return cls._load(path, cwd_override, read_only)
        except OSError as error:
            raise SessionError(f"The session {path} cannot be opened: {error.strerror}") from error

    @classmethod
    def _load(cls, path: str, cwd_override: str | None, read_only: bool) -> Session:
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode):
            raise NotASession(f"{path} is not a file")
        storage: Storage = JsonlStorage(path, read_only=read_only)
        if status.st_size == 0 and not read_only:
            _start_empty(storage, new_header(cwd_override or os.getcwd()))
        index = _read_index(storage, path)
        if _header(index).version < VERSION:
            if read_only:
                storage = MemoryStorage(migrated_text(path))
            else:
                migrate_file(path)
                storage.restart()
            index = _read_index(storage, path)
        cwd = cwd_override or _header(index).cwd or os.getcwd()
        session = cls(storage, index, cwd=cwd, file_ms=status.st_mtime_ns // 1_000_000, read_only=read_only)
        if storage.torn:
            session._end_last_line()
        return session

    def _end_last_line(self) -> None:
        """End the unfinished last line, so that the next append stands on its own."""
        try:
            self._check_writable()
            with self._exclusive():
                self._storage.write(b"")
                self._index.add_all(self._storage.lines())
        except SessionError:  # it can be read all the same
            self._index.add_all(self._storage.lines(torn=True))
        self._index.mark_torn()
        self._leaf = self._index.heads[-1].id if self._index.heads else None

    def begin(self) -> None:
        """Make the file, with everything so far: the model really answers. May be called again.

        The file must not exist yet: another one at the path is never touched.
        """
        self._check_writable()
        try:
            self._storage.begin()
        except FileExistsError as error:
            raise WriteFailed(f"{self.path} exists already and was not made by this session") from error
        except OSError as error:
            raise self._write_failed(error) from error

    def refresh(self) -> int:
        """Take in what other processes have appended; return how many entries. The leaf stays."""
        before = len(self._index.heads)
        self._index.add_all(self._storage.lines())
        return len(self._index.heads) - before

    def sync(self) -> None:
        """Wait until everything is on the disk."""
        try:
            self._storage.sync()
        except OSError as error:
            raise self._write_failed(error) from error

    def close(self) -> None:
        """Wait until everything is on the disk and give back the file."""
        try:
            self.sync()
        finally:
            self._storage.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # ------------------------------------------------------------------------------------------------------ reading

    @property
    def id(self) -> str:
        return self._header.id

    @property
    def header(self) -> Header:
        return self._header

    @property
    def cwd(self) -> str:
        """The working directory: an override, else the header's, else that of this process at opening."""
        return self._cwd

    @property
    def path(self) -> str | None:
        """The session file, which may not exist yet; None in memory."""
        return self._storage.path

    @property
    def saved(self) -> bool:
        """Whether there is a file."""
        return self._storage.saved

    @property
    def name(self) -> str | None:
        return self._index.name

    @property
    def leaf_id(self) -> str | None:
        """The entry that the next one is attached to; None before everything."""
        return self._leaf

    @property
    def heads(self) -> Sequence[Head]:
        """What is known of every entry without its body, in the order of the file."""
        return self._index.heads

    @property
    def entries(self) -> list[Entry]:
        """All entries, decoded, in the order of the file."""
        return self.decode(self._index.heads)

    @property
    def labels(self) -> Mapping[str, Label]:
        """The labels in force, by the entry they are on."""
        return self._index.labels

    @property
    def problems(self) -> Sequence[Problem]:
        """Lines of the file that were set aside."""
        return self._index.problems

    @property
    def file_ms(self) -> int:
        """The time of the file at opening (Unix milliseconds), which stands in for missing times."""
        return self._file_ms

    def totals(self) -> Totals:
        """Return counts, tokens and cost over all entries of all branches."""
        return replace(self._index.totals)

    def head(self, id: str) -> Head:
        """Return what is known of an entry without its body. Raises `UnknownEntry`."""
        head = self._index.by_id.get(id)
        if head is None:
            raise UnknownEntry(f"No entry {id} in session {self.id}")
        return head

    def get_entry(self, id: str) -> Entry | None:
        """Return the entry of that id (of duplicates the later), None if there is none."""
        head = self._index.by_id.get(id)
        return None if head is None else self.entry(head)

    def entry(self, head: Head) -> Entry:
        """Return the entry of a head."""
        return self.decode([head])[0]

    def decode(self, heads: Sequence[Head]) -> list[Entry]:
        """Return the entries of `heads`."""
        lines = self._storage.read(head.position for head in heads)
        with collector_paused():
            return [self._decode(text, head) for text, head in zip(lines, heads, strict=True)]

    def _decode(self, text: Text, head: Head) -> Entry:
        entry = read_entry(text, self._file_ms)
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
                message = with_fields(message, tool_name=self._called_tool(message.tool_call_id, head.parent_id))
                entry = with_fields(entry, message=message)
        return entry

    def _called_tool(self, call_id: str, leaf: str | None) -> str:
        """Return the name of the tool that was called with that id on the branch to `leaf`; empty if none was."""
        for head in reversed(self.path_heads(leaf)):
            entry = self.entry(head) if head.role == "assistant" else None
            if isinstance(entry, MessageEntry) and isinstance(entry.message, AssistantMessage):
                for call in entry.message.tool_calls:
                    if call.id == call_id:
                        return call.name
        return ""

    def line(self, head: Head) -> bytes:
        """Return the line of an entry as it is stored, without the line feed."""
        [line] = [bytes(text) for text in self._storage.read([head.position])]
        return line

    def path_heads(self, leaf: str | EllipsisType | None = ...) -> list[Head]:
        """Return the branch that ends in `leaf` (default: the current leaf), root first, without bodies."""
        return self._index.path(self._leaf if leaf is ... else leaf)

    def path_to(self, leaf: str | EllipsisType | None = ...) -> list[Entry]:
        """Return the branch that ends in `leaf` (default: the current leaf), root first."""
        return self.decode(self.path_heads(leaf))

    def children(self, id: str | None) -> list[Entry]:
        """Return the entries whose parent is `id`, in the order of the file."""
        return self.decode([head for head in self._index.heads if head.parent_id == id])

    def tree(self) -> list[TreeNode]:
        """Return the roots of the whole tree."""
        return build_tree(self._index, lambda heads: [entry_ms(entry) for entry in self.decode(heads)])

    def build_context(self, leaf: str | EllipsisType | None = ...) -> SessionContext:
        """Return what the model sees at `leaf` (default: the current leaf; unknown: the last entry; None: nothing).

        Only the entries that go into the context are decoded.
        """
        if leaf is ...:
            leaf = self._leaf
        elif leaf is not None and leaf not in self._index.by_id:
            leaf = self._index.heads[-1].id if self._index.heads else None
        selection = select(self._index.path(leaf))
        return assemble(selection, self.decode(selection.heads))

    # ---------------------------------------------------------------------------------------------------- appending

    def append_message(self, message: StoredMessage) -> str:
        """Append a message; return the id of its entry. A custom message becomes a ``custom_message`` entry.

        The first answer of the model makes the file, unless it failed before anything arrived.
        """
        match message:
            case BranchSummaryMessage() | CompactionSummaryMessage():
                raise InvalidEntry(f"A message of role {message.role} is built from its entry and never stored")
            case CustomMessage():
                return self.append_custom_message(
                    message.custom_type, message.content, message.display, message.details
                )
            case AssistantMessage() if is_answer(message):
                self.begin()
        return self._append(MessageEntry, message)

    def append_model_change(self, provider: str, model_id: str) -> str:
        return self._append(ModelChangeEntry, provider, model_id)

    def append_thinking_level_change(self, level: str) -> str:
        return self._append(ThinkingLevelChangeEntry, level)

    def append_compaction(
        self,
        summary: str,
        first_kept_entry_id: str | None,
        tokens_before: int,
        details: Any = None,
        from_hook: bool | None = None,
        usage: Usage | None = None,
    ) -> str:
        """Append a compaction. Without `first_kept_entry_id` nothing older is kept. The disk is waited for."""

        def make(id: str, parent: str | None, timestamp: str) -> Entry:
            kept = first_kept_entry_id or id
            return CompactionEntry(id, parent, timestamp, summary, tokens_before, kept, details, usage, from_hook)

        id = self._append(make)
        self.sync()
        return id

    def append_custom(self, custom_type: str, data: Any = None) -> str:
        """Append state (JSON) that the model never sees."""
        return self._append(CustomEntry, custom_type, data)

    def append_custom_message(
        self, custom_type: str, content: str | Sequence[UserBlock], display: bool, details: Any = None
    ) -> str:
        return self._append(CustomMessageEntry, custom_type, content, display, details)

    def append_session_info(self, name: str | None) -> str:
        """Name the session; an empty name clears. Line breaks become blanks."""
        return self._append(SessionInfoEntry, _LINE_BREAKS.sub(" ", name or "").strip())

    def append_label(self, target: str, label: str | None) -> str:
        """Label an entry; None or an empty label clears. Raises `UnknownEntry`."""
        self.head(target)
        return self._append(LabelEntry, target, label)

    def append_context_edit(self, target: str, replacement: Replacement | None) -> str:
        """Change what the model sees of a message on the current branch; None removes it from the context.

        Raises `UnknownEntry`, or `InvalidEntry` for an entry that cannot be edited.
        """
        head = self.head(target)
        editable = head.type == "custom_message" or (head.type == "message" and head.role in _EDITABLE_ROLES)
        if not editable or head not in self.path_heads():
            raise InvalidEntry(f"Entry {target} is no message on the current branch, so its content cannot be edited")
        if replacement is not None:
            content = replacement.content
            if not isinstance(content, str | list | tuple):
                raise InvalidEntry(f"The new content of {target} must be a text or a list of blocks")
            if isinstance(content, str) and head.role in ("assistant", "toolResult"):
                replacement = Replacement([TextContent(content)])
        return self._append(ContextEditEntry, target, replacement)

    def append_usage(self, kind: str, provider: str, model: str, usage: Usage, note: str | None = None) -> str:
        """Append model work that belongs to no message; it counts in the totals."""
        return self._append(UsageEntry, kind, provider, model, usage, note)

    # ------------------------------------------------------------------------------------------------ moving the leaf

    def branch(self, id: str) -> None:
        """Move the leaf to an entry. Raises `UnknownEntry`."""
        self._leaf = self.head(id).id

    def reset_leaf(self) -> None:
        """Move the leaf before everything: the next append is another root."""
        self._leaf = None

    def branch_with_summary(
        self,
        id: str | None,
        summary: str,
        details: Any = None,
        from_hook: bool | None = None,
        usage: Usage | None = None,
    ) -> str:
        """Move the leaf to `id` (None: before everything) and append a summary of the branch that is left."""
        if id is not None:
            self.head(id)
        left = self._leaf
        self._leaf = id
        try:
            return self._append(BranchSummaryEntry, left or "root", summary, details, usage, from_hook)
        except BaseException:
            self._leaf = left
            raise

    # ------------------------------------------------------------------------------------------------------- inside

    def _append(self, make: Callable[..., Entry], *fields: Any) -> str:
        self._check_writable()
        try:
            with self._exclusive():
                entry = make(entry_id(self._index.by_id), self._leaf, iso_time(), *fields)
                self._storage.write(encode(entry))
                self._index.add_all(self._storage.lines())
        except OSError as error:
            raise self._write_failed(error) from error
        self._leaf = entry.id
        return entry.id

    @contextmanager
    def _exclusive(self) -> Iterator[None]:
        """Keep other writers out and know all that they have written."""
        saved: list[tuple[str, bytes]] = []
        while True:
            with self._storage.locked() as change:
                if change == "none":
                    self._index.add_all(self._storage.lines())
                    for id, line in saved:
                        if id not in self._index.by_id:
                            self._storage.write(line)
                    self._index.add_all(self._storage.lines())
                    yield
                    return
                if change == "replaced":
                    saved = [(head.id, self.line(head)) for head in self.path_heads()]
            self._reload({id for id, _ in saved})

    def _reload(self, saved: set[str]) -> None:
        """Turn to the file that now stands at the path; `saved` entries will be written to it where it lacks them."""
        self._storage.restart()
        index = Index()
        if not index.add_all(self._storage.lines()) or index.header is None or index.header.id != self.id:
            raise HistoryChanged(f"{self.path} is no longer the file of session {self.id}; nothing was stored")
        self._index = index
        if self._leaf is not None and self._leaf not in index.by_id and self._leaf not in saved:
            self._leaf = index.heads[-1].id if index.heads else None
            raise HistoryChanged(
                f"{self.path} was changed by another program and the branch in use is not in it any more; nothing was "
                "stored, and the session goes on from the last entry of the file"
            )

    def _check_writable(self) -> None:
        if self._header.version > VERSION:
            raise NewerVersion(
                f"{self.path} is of version {self._header.version}; this program writes version {VERSION} and leaves "
                "it as it is. Fork it, or update this program"
            )
        if self._read_only:
            raise SessionError(f"{self.path} was opened for reading only")

    def _write_failed(self, error: OSError) -> WriteFailed:
        return WriteFailed(
            f"Session {self.path} cannot be written: {error.strerror or error}. The entry was not stored"
        )


def is_answer(message: AssistantMessage) -> bool:
    """Whether the model really answered: not if it failed or was aborted before anything arrived."""
    return bool(message.content) or message.stop_reason not in ("error", "aborted")


def new_header(cwd: str, id: str | None = None, parent_session: str | None = None) -> Header:
    """Return the header of a session that begins now. Raises `InvalidSessionId`."""
    return Header(VERSION, session_id(id), iso_time(), os.path.abspath(cwd), parent_session)


def _start_empty(storage: Storage, header: Header) -> None:
    with storage.locked():
        if not any(True for _ in storage.lines()) and not storage.torn:
            storage.write(encode(header))
    storage.restart()


def _header(index: Index) -> Header:
    assert index.header is not None, "the index of a session has a header"
    return index.header


def _read_index(storage: Storage, path: str) -> Index:
    index = Index()
    if not index.add_all(storage.lines()) or index.header is None:
        raise NotASession(
            f"{path} is not a session file: it does not begin with a session header. It was left as it is"
        )
    return index
