"""A session: an append-only tree of entries, and the leaf where the next one is attached.

It works on what is known of the entries and decodes them when they are asked for. Files are the matter of the log.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import EllipsisType, TracebackType
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from piolet.base.files import make_private_folder
from piolet.base.ids import iso_time
from piolet.base.json import encode
from piolet.harness.messages import (
    BranchSummaryMessage,
    CompactionSummaryMessage,
    CustomMessage,
)
from piolet.harness.session.context import Selection, SessionContext, assemble, entry_ms, is_long, select
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
    SessionError,
    UnknownEntry,
    WriteFailed,
)
from piolet.harness.session.index import Head, Index, Label, Problem
from piolet.harness.session.jsonl import JsonlStorage
from piolet.harness.session.log import EntryLog
from piolet.harness.session.naming import file_name, session_id
from piolet.harness.session.storage import MemoryStorage, Storage
from piolet.harness.session.totals import Totals
from piolet.harness.session.tree import TreeNode, build_tree
from piolet.llm.messages import AssistantMessage, TextContent, Usage, UserBlock

if TYPE_CHECKING:
    from piolet.harness.session.presence import Presence

_LINE_BREAKS = re.compile(r"[\r\n]+")
_EDITABLE_ROLES = ("user", "assistant", "toolResult", "custom")


class Session:
    """One session. Every append is a child of the leaf and becomes the leaf; what it returned is stored.

    Made by `create`, `open` or `in_memory`, or by a `SessionStore` such as a database. Not for several threads at once.
    Appending raises `WriteFailed` when the disk refuses, and leaves everything as it was.
    """

    def __init__(self, log: EntryLog, cwd: str) -> None:
        self._log = log
        self._cwd = cwd
        self._leaf = log.last_id
        self._presence: Presence | None = None

    # ------------------------------------------------------------------------------------------------------- making

    @classmethod
    def create(cls, cwd: str, folder: str, id: str | None = None, parent_session: str | None = None) -> Session:
        """Return a new session of `folder`, which is made if it is missing. The file is made by `begin`.

        Raises `WriteFailed` if that shows already to be impossible.
        """
        header = new_header(cwd, id, parent_session)
        _prepare_folder(folder)
        return cls.draft(header, os.path.join(folder, file_name(header.timestamp or "", header.id)))

    @classmethod
    def in_memory(cls, cwd: str, id: str | None = None) -> Session:
        """Return a new session that never has a file."""
        return cls.draft(new_header(cwd, id), None)

    @classmethod
    def draft(cls, header: Header, path: str | None) -> Session:
        """Return an empty session that will be at `path` when it begins; in memory if that is None."""
        text = draft_text(header)
        return cls.over(MemoryStorage(text) if path is None else JsonlStorage(path, text))

    @classmethod
    def over(cls, storage: Storage, cwd_override: str | None = None, *, read_only: bool = False) -> Session:
        """Return the session whose lines `storage` has, header first. Raises `NotASession`."""
        try:
            log = EntryLog.over(storage, read_only=read_only)
        except OSError as error:
            reason = error.strerror or error
            raise SessionError(f"The session {storage.name} cannot be opened: {reason}") from error
        return cls(log, cwd_override or log.header.cwd or os.getcwd())

    def beside(self, header: Header, lines: Sequence[bytes] = ()) -> Session:
        """Return another session with these lines, to be kept where this one is when it begins; in this one's `cwd`."""
        name = file_name(header.timestamp or "", header.id)
        return self.over(self._log.storage.beside(header.id, name, draft_text(header, lines)), self.cwd)

    @classmethod
    def open(cls, path: str, cwd_override: str | None = None, *, read_only: bool = False) -> Session:
        """Open the session file at `path`; it runs in `cwd_override` if that is given.

        A missing file is a new session at exactly this path; an empty one gets a header. Old versions are migrated,
        an unfinished last line is ended; with `read_only` the file is not touched, and appending fails. Raises
        `NotASession` when there is something else, which stays as it is.
        """
        path = os.path.abspath(path)
        cwd = cwd_override or os.getcwd()
        try:
            if not os.path.lexists(path) and not read_only:
                _prepare_folder(os.path.dirname(path))
                return cls.draft(new_header(cwd), path)
            log = EntryLog.open(path, lambda: new_header(cwd), read_only=read_only)
        except OSError as error:
            raise SessionError(f"The session {path} cannot be opened: {error.strerror or error}") from error
        return cls(log, cwd_override or log.header.cwd or cwd)

    def begin(self) -> None:
        """Make the file, with everything so far: the model really answers. May be called again.

        The file must not exist yet: another one at the path is never touched.
        """
        self._log.begin()

    def sync(self) -> None:
        """Wait until everything is on the disk."""
        self._log.sync()

    def claim(self) -> bool:
        """Say that the session is in use, until `close`; return whether another `Session` of this user says so.

        Other processes on this machine are heard too, but no other machine that shares a database.
        """
        place = self._log.storage.place
        if self._presence is None and place is not None:
            from piolet.harness.session.presence import Presence

            self._presence = Presence(place)
        return self._presence is not None and self._presence.others

    def close(self) -> None:
        """Wait until everything is on the disk, give back the file, and say no longer that the session is in use.

        Whoever goes on with it all the same opens the file again; a session of a store ends with `SessionStore.close`.
        """
        if self._presence is not None:
            self._presence.close()
            self._presence = None
        self._log.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # ------------------------------------------------------------------------------------------------------ reading

    @property
    def id(self) -> str:
        return self.header.id

    @property
    def header(self) -> Header:
        return self._log.header

    @property
    def cwd(self) -> str:
        """The working directory: an override, else the header's, else that of this process at opening."""
        return self._cwd

    @property
    def path(self) -> str | None:
        """The session file, which may not exist yet; None in memory."""
        return self._log.storage.path

    @property
    def saved(self) -> bool:
        """Whether there is a file, or what stands for it."""
        return self._log.storage.saved

    @property
    def lasting(self) -> bool:
        """Whether there is a file as soon as the session begins, or what stands for it."""
        return self._log.storage.lasting

    @property
    def name(self) -> str | None:
        return self._log.known.name

    @property
    def leaf_id(self) -> str | None:
        """The entry that the next one is attached to; None before everything."""
        return self._leaf

    @property
    def heads(self) -> Sequence[Head]:
        """What is known of every entry without its body, in the order of the file."""
        return self._log.index.heads

    @property
    def entries(self) -> list[Entry]:
        """All entries, decoded, in the order of the file."""
        return self._log.entries(self.heads)

    @property
    def labels(self) -> Mapping[str, Label]:
        """The labels in force, by the entry they are on."""
        return self._log.known.labels

    @property
    def problems(self) -> Sequence[Problem]:
        """Lines of the file that were set aside. Every line of a long file is read for this."""
        return self._log.index.problems

    @property
    def known_problems(self) -> Sequence[Problem]:
        """Lines that were set aside so far: those of a long file that nothing was asked of were not all read."""
        return self._log.known.problems

    def totals(self) -> Totals:
        """Return counts, tokens and cost over all entries of all branches."""
        return replace(self._log.index.totals)

    def head(self, id: str) -> Head:
        """Return what is known of an entry without its body. Raises `UnknownEntry`."""
        head = self._log.index.by_id.get(id)
        if head is None:
            raise UnknownEntry(f"No entry {id} in session {self.id}")
        return head

    def get_entry(self, id: str) -> Entry | None:
        """Return the entry of that id (of duplicates the later), None if there is none."""
        return self._log.find(id)

    def entry(self, head: Head) -> Entry:
        """Return the entry of a head."""
        return self._log.entries([head])[0]

    def entries_of(self, heads: Sequence[Head]) -> list[Entry]:
        """Return the entries of heads."""
        return self._log.entries(heads)

    def lines(self, heads: Sequence[Head]) -> list[bytes]:
        """Return the lines of entries as they are stored, without the line feeds."""
        return self._log.lines(heads)

    def path_heads(self, leaf: str | EllipsisType | None = ...) -> list[Head]:
        """Return the branch that ends in `leaf` (default: the current leaf), root first, without bodies."""
        return self._log.index.path(self._leaf if leaf is ... else leaf)

    def path_to(self, leaf: str | EllipsisType | None = ...) -> list[Entry]:
        """Return the branch that ends in `leaf` (default: the current leaf), root first."""
        return self._log.entries(self.path_heads(leaf))

    def last_custom(self, custom_type: str) -> CustomEntry | None:
        """Return the newest ``custom`` entry of that type on the current branch, None if there is none."""
        for head in reversed(self._log.known.path(self._leaf)):
            entry = self.entry(head) if head.type == "custom" else None
            if isinstance(entry, CustomEntry) and entry.custom_type == custom_type:
                return entry
        return None

    def children(self, id: str | None) -> list[Entry]:
        """Return the entries whose parent is `id`, in the order of the file."""
        return self._log.entries([head for head in self.heads if head.parent_id == id])

    def tree(self) -> list[TreeNode]:
        """Return the roots of the whole tree."""
        return build_tree(self._log.index, lambda heads: [entry_ms(entry) for entry in self._log.entries(heads)])

    def build_context(self, leaf: str | EllipsisType | None = ...) -> SessionContext:
        """Return what the model sees at `leaf` (default: the current leaf; unknown: the last entry; None: nothing).

        Only entries that go into the context are decoded, those of a long one when they are read. Of a long file with
        a compaction near its end, what stands before that is believed to be sound: the thinking level and the model
        may be from there.
        """
        log = self._log
        if log.known.cursory:
            with contextlib.suppress(HistoryChanged):  # a damaged line
                selection = self._select(log.known, leaf)
                if not is_long(selection):
                    return assemble(selection, log.reader())
        return assemble(self._select(log.index, leaf), log.reader())

    def _select(self, index: Index, leaf: str | EllipsisType | None) -> Selection:
        if leaf is ...:
            leaf = self._leaf
            if leaf is not None and leaf not in index.by_id:
                raise HistoryChanged(f"The branch in use is not in {self._log.storage.name} any more; open it again")
        elif leaf is not None and leaf not in index.by_id:
            leaf = self._log.last_id
        return select(index.path(leaf), self._log.model_of)

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
        head = self.check_editable(target)
        if replacement is not None:
            content = replacement.content
            if not isinstance(content, str | list | tuple):
                raise InvalidEntry(f"The new content of {target} must be a text or a list of blocks")
            if isinstance(content, str) and head.role in ("assistant", "toolResult"):
                replacement = Replacement([TextContent(content)])
        return self._append(ContextEditEntry, target, replacement)

    def check_editable(self, target: str) -> Head:
        """Return the head of a message on the current branch. Raises `UnknownEntry`, `InvalidEntry` for all else."""
        head = self.head(target)
        editable = head.type == "custom_message" or (head.type == "message" and head.role in _EDITABLE_ROLES)
        if not editable or head not in self.path_heads():
            raise InvalidEntry(f"Entry {target} is no message on the current branch, so its content cannot be edited")
        return head

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
        left = self._leaf or "root"
        return self._append(BranchSummaryEntry, left, summary, details, usage, from_hook, parent=id)

    def _append(self, make: Callable[..., Entry], *fields: Any, parent: str | EllipsisType | None = ...) -> str:
        """Append ``make(id, parent_id, timestamp, *fields)``, as a child of the leaf unless `parent` is given."""
        parent_id = self._leaf if parent is ... else parent
        try:
            self._leaf = self._log.append(lambda id: make(id, parent_id, iso_time(), *fields), self._leaf)
        except HistoryChanged:
            if self._leaf not in self._log.known.by_id:
                self._leaf = self._log.last_id
            raise
        return self._leaf


def is_answer(message: AssistantMessage) -> bool:
    """Whether the model really answered: not if it failed or was aborted before anything arrived."""
    return bool(message.content) or message.stop_reason not in ("error", "aborted")


def _prepare_folder(folder: str) -> None:
    """Make the folder of a new session if it is missing; raise `WriteFailed` if no file can be made there.

    Better now than when the model has answered.
    """
    try:
        make_private_folder(Path(folder))
    except OSError as error:
        raise WriteFailed(f"The session folder {folder} cannot be made: {error.strerror}") from error
    if not os.access(folder, os.W_OK | os.X_OK, effective_ids=os.access in os.supports_effective_ids):
        raise WriteFailed(f"The session folder {folder} cannot be written to")


def draft_text(header: Header, lines: Sequence[bytes] = ()) -> bytes:
    """Return what is stored of a new session that has these lines."""
    return b"".join(line + b"\n" for line in (encode(header), *lines))


def new_header(cwd: str, id: str | None = None, parent_session: str | None = None) -> Header:
    """Return the header of a session that begins now. Raises `InvalidSessionId`."""
    return Header(VERSION, session_id(id), iso_time(), os.path.abspath(cwd), parent_session)
