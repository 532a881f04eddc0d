"""The sessions that are there: one pass over each file, without building a tree (session format, section 10)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

import msgspec
from msgspec import Struct

from piolet.base.ids import parse_time
from piolet.base.json import loads
from piolet.harness.session.entries import Header
from piolet.harness.session.jsonl import JsonlStorage
from piolet.harness.session.reading import OTHER_NAMES, read_header
from piolet.harness.session.storage import Text

NO_MESSAGES = "(no messages)"


class SessionInfo(Struct, frozen=True):
    """A session file at a glance. Times are Unix milliseconds; `modified`: when user or model last spoke."""

    path: str
    id: str
    cwd: str
    created: int
    modified: int
    message_count: int
    first_message: str
    all_messages_text: str
    name: str | None = None
    parent_session_path: str | None = None


def list_files(paths: Iterable[str], cwd: str | None = None) -> list[SessionInfo]:
    """Return the sessions among `paths`, newest first; with `cwd` only those whose header names that folder."""
    infos = [info for path in paths if (info := read_info(path)) is not None]
    if cwd is not None:
        infos = [info for info in infos if same_folder(info.cwd, cwd)]
    return sorted(infos, key=lambda info: info.modified, reverse=True)


def same_folder(stored: str | None, cwd: str) -> bool:
    """Whether the working directory in a header is `cwd`. A missing one never is."""
    return bool(stored) and os.path.abspath(stored or "") == os.path.abspath(cwd)


def read_info(path: str) -> SessionInfo | None:
    """Return what a list shows of the file at `path`; None if it is no session or cannot be read."""
    storage = JsonlStorage(path, read_only=True)
    glance = _Glance()
    try:
        for _, text in storage.lines(torn=True):
            if not glance.take_in(text):
                return None
        mtime = os.stat(path).st_mtime_ns // 1_000_000
    except OSError:
        return None
    finally:
        storage.close()
    return glance.info(path, mtime)


class _Block(Struct):
    type: str = ""
    text: str | None = None


class _User(Struct, tag_field="role", tag="user"):
    content: str | list[_Block] | None = None
    timestamp: int | float | None = None


class _Assistant(Struct, tag_field="role", tag="assistant"):
    content: str | list[_Block] | None = None
    timestamp: int | float | None = None


class _ToolResult(Struct, tag_field="role", tag="toolResult"):
    pass


class _Bash(Struct, tag_field="role", tag="bashExecution"):
    pass


class _Custom(Struct, tag_field="role", tag="custom"):
    pass


class _System(Struct, tag_field="role", tag="system"):
    pass


class _Line(Struct):
    type: str = ""
    timestamp: str | None = None
    message: _User | _Assistant | _ToolResult | _Bash | _Custom | _System | None = None
    name: str | None = None


@cache
def _decoder() -> msgspec.json.Decoder[_Line]:
    return msgspec.json.Decoder(_Line)


class _Glance:
    """Collects what a list shows, line by line."""

    def __init__(self) -> None:
        self._header: Header | None = None
        self._count = 0
        self._first = ""
        self._texts: list[str] = []
        self._name: str | None = None
        self._modified: int | None = None

    def take_in(self, text: Text) -> bool:
        """Take in one line; False if the file turns out to be no session."""
        try:
            line = _decoder().decode(text)
        except (msgspec.DecodeError, RecursionError):
            try:
                value = loads(bytes(text))
            except ValueError:
                return True
            if not isinstance(value, Mapping):
                return self._header is not None
            line = _pick(value)
        if self._header is None:
            self._header = read_header(loads(bytes(text)))
            return self._header is not None
        kind = OTHER_NAMES.get(line.type, line.type)
        if kind == "message":
            self._count += 1
            if isinstance(line.message, _User | _Assistant):
                self._listen(line.message, line.timestamp)
        elif kind == "session_info":
            self._name = (line.name or "").strip() or None
        return True

    def info(self, path: str, mtime: int) -> SessionInfo | None:
        """Return what was collected; `mtime` (Unix milliseconds) stands in where the file tells no time."""
        header = self._header
        if header is None:
            return None
        header_time = parse_time(header.timestamp)
        created = mtime if header_time is None else header_time
        return SessionInfo(
            path,
            header.id,
            header.cwd or "",
            created,
            created if self._modified is None else self._modified,
            self._count,
            self._first or NO_MESSAGES,
            " ".join(self._texts),
            self._name,
            header.parent_session,
        )

    def _listen(self, message: _User | _Assistant, entry_time: str | None) -> None:
        time = parse_time(entry_time) if message.timestamp is None else round(message.timestamp)
        if time is not None and (self._modified is None or time > self._modified):
            self._modified = time
        content = message.content or ""
        if not isinstance(content, str):
            content = " ".join(block.text for block in content if block.type == "text" and block.text is not None)
        if content:
            self._texts.append(content)
            if not self._first and isinstance(message, _User):
                self._first = content


def _pick(value: Mapping[str, Any]) -> _Line:
    """Return what is usable of a line that the strict decoder refused."""
    kind, time, name = (
        text if isinstance(text := value.get(key), str) else None for key in ("type", "timestamp", "name")
    )
    message = value.get("message")
    return _Line(kind or "", time, _pick_talk(message) if isinstance(message, Mapping) else None, name)


def _pick_talk(message: Mapping[str, Any]) -> _User | _Assistant | None:
    content, time = message.get("content"), message.get("timestamp")
    if isinstance(content, list):
        blocks = [block for block in content if isinstance(block, Mapping)]
        content = [_Block(str(block.get("type")), str(block.get("text") or "")) for block in blocks]
    elif not isinstance(content, str):
        content = None
    time = time if isinstance(time, int | float) and not isinstance(time, bool) else None
    match message.get("role"):
        case "user":
            return _User(content, time)
        case "assistant":
            return _Assistant(content, time)
        case _:
            return None
