"""New sessions from old ones: branch copies, forks, export and import (session format, sections 9 and 12).

A line that is copied unchanged is copied byte for byte; one whose parent changes is written anew, with its unknown
fields.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from types import EllipsisType

from piolet.base.files import make_private_folder
from piolet.base.ids import entry_id, iso_time
from piolet.base.json import encode, loads
from piolet.harness.session.entries import VERSION, Entry, Header, LabelEntry, MessageEntry
from piolet.harness.session.errors import InvalidEntry, MissingCwd, NotASession, NotSaved, SessionError, WriteFailed
from piolet.harness.session.index import Head
from piolet.harness.session.jsonl import JsonlStorage, create_file
from piolet.harness.session.migration import migrated_text
from piolet.harness.session.naming import dashed, file_name
from piolet.harness.session.reading import read_header
from piolet.harness.session.session import Session, draft_text, is_answer, new_header
from piolet.harness.session.storage import Storage, parsed_lines
from piolet.llm.messages import AssistantMessage, UserMessage, text_of


def branched_session(session: Session, leaf: str, id: str | None = None) -> Session:
    """Return a new session, beside `session`, with its branch up to and including `leaf`.

    Entries keep ids and times. Labels become a chain at the end. The file is written at once if the branch holds an
    answer of the model, else later. Raises `UnknownEntry`.
    """
    session.head(leaf)
    path = session.path_heads(leaf)
    header = _copy_header(session, id)
    copy = session.beside(header, _branch_lines(session, path))
    if any(head.role == "assistant" and _is_answer(session.entry(head)) for head in path):
        copy.begin()
    return copy


def fork(session: Session, entry_id: str) -> tuple[Session, str]:
    """Return a new session with the branch before a user message, and the text of that message.

    Raises `UnknownEntry`, `InvalidEntry` for anything but a user message, `NotSaved` without a file.
    """
    head = session.head(entry_id)
    entry = session.entry(head)
    if not isinstance(entry, MessageEntry) or not isinstance(entry.message, UserMessage):
        raise InvalidEntry("Invalid entry ID for forking: only user messages can be forked from")
    text = text_of(entry.message.content)
    if head.parent_id is None or not session.path_heads(head.parent_id):
        return session.beside(_copy_header(session, None)), text
    _check_saved(session)
    return branched_session(session, head.parent_id), text


def clone(session: Session, leaf: str | None = None) -> Session:
    """Return a new session with the branch that ends in `leaf` (default: the current leaf).

    Raises `NotSaved` without a file, `InvalidEntry` without leaf, `UnknownEntry`.
    """
    leaf = leaf or session.leaf_id
    if leaf is None:
        raise InvalidEntry("Cannot clone session: no current entry selected")
    _check_saved(session)
    return branched_session(session, leaf)


def fork_points(session: Session) -> list[tuple[str, str]]:
    """Return id and text of the user messages of the current branch that have text, root first."""
    users = [session.entry(head) for head in session.path_heads() if head.role == "user"]
    points = [(entry.id, _user_text(entry)) for entry in users]
    return [(id, text) for id, text in points if text.strip()]


def fork_from(source: str, target_cwd: str, folder: str, id: str | None = None, *, migrate: bool = True) -> Session:
    """Copy all entries of the session file `source` into a new session for `target_cwd`; return it, opened.

    Malformed lines are left out. Without `migrate`, the entries of an old file are copied as they are, as pi does.
    Raises `NotASession`, `InvalidSessionId`, `WriteFailed`, `SessionError` for a file that cannot be read.
    """
    source = os.path.abspath(source)
    header = new_header(target_cwd, id, source)
    lines = forked_lines(source, migrate=migrate)
    path = os.path.join(folder, file_name(header.timestamp or "", header.id))
    try:
        make_private_folder(Path(folder))
        create_file(path, (line + b"\n" for line in (encode(header), *lines)))
    except OSError as error:
        raise WriteFailed(f"The copy {path} cannot be written: {error.strerror}") from error
    return Session.open(path)


def forked_lines(source: str, *, migrate: bool) -> list[bytes]:
    """Return the entries of the session file `source`, as `fork_from` copies them; the same errors."""
    try:
        header, lines = object_lines(JsonlStorage(source, read_only=True))
        if migrate and header.version < VERSION:
            lines = [line for line in migrated_text(source).split(b"\n")[1:] if line]
    except OSError as error:
        raise SessionError(f"The session {source} cannot be read: {error.strerror}") from error
    return lines


def export_jsonl(session: Session, path: str | None = None, leaf: str | EllipsisType | None = ...) -> str:
    """Write the branch that ends in `leaf` (default: the current leaf) as a session file; return its path.

    `path` defaults to ``session-TIME.jsonl`` in the process's folder; folders are made; a file that is there is
    replaced.
    """
    path = os.path.abspath(path or f"session-{dashed(iso_time())}.jsonl")
    if session.path is not None and os.path.realpath(path) == os.path.realpath(session.path):
        raise SessionError(f"{path} is the session itself; choose another file for the export")
    text = exported_text(session, leaf)
    try:
        make_private_folder(Path(path).parent)
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with open(fd, "wb") as file:
            file.write(text)
    except OSError as error:
        raise WriteFailed(f"{path} cannot be written: {error.strerror}") from error
    return path


def exported_text(session: Session, leaf: str | EllipsisType | None = ...) -> bytes:
    """Return a session file with the branch that ends in `leaf`. Each entry gets the one before it as parent."""
    header = Header(VERSION, session.id, iso_time(), session.header.cwd or session.cwd)
    return draft_text(header, _relinked(session, session.path_heads(leaf)))


def import_jsonl(source: str, folder: str, *, cwd_override: str | None = None) -> str:
    """Copy a session file into `folder` under its own name, or ``NAME-1``, ``NAME-2``, …; return the copy's path.

    A file that is in `folder` already is not copied. Raises `NotASession`, and `MissingCwd` if the stored working
    directory is gone and `cwd_override` is not given; nothing is copied then.
    """
    source = os.path.abspath(source)
    with_header = Session.open(source, read_only=True)
    cwd = with_header.header.cwd
    if cwd_override is None and cwd and not os.path.isdir(cwd):
        raise MissingCwd(f"The working directory of {source}, {cwd}, does not exist")
    if os.path.realpath(os.path.dirname(source)) == os.path.realpath(folder):
        return source
    stem, extension = os.path.splitext(os.path.basename(source))
    number = 0
    try:
        make_private_folder(Path(folder))
        with open(source, "rb") as file:
            while True:
                path = os.path.join(folder, f"{stem}-{number}{extension}" if number else stem + extension)
                try:
                    create_file(path, iter(lambda: file.read(1 << 20), b""))
                    return path
                except FileExistsError:
                    number += 1
    except OSError as error:
        raise WriteFailed(f"{source} cannot be copied into {folder}: {error.strerror}") from error


def _copy_header(session: Session, id: str | None) -> Header:
    origin = session.path or (session.id if session.lasting else None)
    return new_header(session.header.cwd or session.cwd, id, origin)


def _check_saved(session: Session) -> None:
    if session.lasting and not session.saved:
        raise NotSaved("This session has not been saved yet. Wait for the first answer, then fork or clone it")


def _is_answer(entry: Entry) -> bool:
    return isinstance(entry, MessageEntry) and isinstance(entry.message, AssistantMessage) and is_answer(entry.message)


def _user_text(entry: Entry) -> str:
    if isinstance(entry, MessageEntry) and isinstance(entry.message, UserMessage):
        return text_of(entry.message.content)
    return ""


def _branch_lines(session: Session, path: Sequence[Head]) -> list[bytes]:
    kept = [head for head in path if head.type != "label"]
    moved: dict[str | None, str | None] = {}  # a label on the path to what stands for it: as parent, as first kept
    first_kept: dict[str | None, str] = {}
    last: str | None = None
    for head in path:
        if head.type == "label":
            moved[head.id] = last
        else:
            last = head.id
    following: str | None = None
    for head in reversed(path):
        if head.type != "label":
            following = head.id
        elif following is not None:
            first_kept[head.id] = following
    lines = []
    for head, line in zip(kept, session.lines(kept), strict=True):
        changes: dict[str, str | None] = {}
        if head.parent_id in moved:
            changes["parentId"] = moved[head.parent_id]
        if head.type == "compaction" and head.link in first_kept:
            changes["firstKeptEntryId"] = first_kept[head.link]
        lines.append(_changed(line, changes))
    return lines + _label_lines(session, [head.id for head in kept])


def _label_lines(session: Session, ids: Sequence[str]) -> list[bytes]:
    on_path = set(ids)
    taken = set(ids)
    parent = ids[-1] if ids else None
    lines = []
    for target, label in session.labels.items():
        if target in on_path:
            id = entry_id(taken)
            taken.add(id)
            lines.append(encode(LabelEntry(id, parent, label.timestamp or iso_time(), target, label.text)))
            parent = id
    return lines


def _relinked(session: Session, path: Sequence[Head]) -> list[bytes]:
    lines, parent = [], None
    for head, line in zip(path, session.lines(path), strict=True):
        lines.append(_changed(line, {} if head.parent_id == parent else {"parentId": parent}))
        parent = head.id
    return lines


def _changed(line: bytes, changes: dict[str, str | None]) -> bytes:
    return encode({**loads(line), **changes}) if changes else line


def object_lines(storage: Storage) -> tuple[Header, list[bytes]]:
    """Return the header of a session, and the lines that hold other JSON objects. Raises `NotASession`, OSError."""
    header: Header | None = None
    lines = []
    for line, value in parsed_lines(storage):
        if header is None:
            header = read_header(value)
            if header is None:
                break
        elif isinstance(value, dict) and value.get("type") != "session":
            lines.append(line)
    if header is None:
        raise NotASession(f"{storage.name} is not a session file: it does not begin with a session header")
    return header, lines
