"""What is wrong with a session file, and a repaired copy of it. The file itself is never touched."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any, TypeAlias

from msgspec import Struct

from piolet.base.ids import entry_id, iso_time, uuid7
from piolet.base.json import encode, loads
from piolet.harness.session.entries import VERSION, Header, OpaqueEntry
from piolet.harness.session.errors import NewerVersion, WriteFailed
from piolet.harness.session.index import Problem, ProblemKind
from piolet.harness.session.jsonl import JsonlStorage, create_file
from piolet.harness.session.migration import migrate
from piolet.harness.session.reading import is_known_type, read_entry, read_header
from piolet.harness.session.tree import find_cycles

Value: TypeAlias = dict[str, Any]
_READABLE_ID = re.compile(rb'"id"\s*:\s*"([^"\\]+)"')
_READABLE_PARENT = re.compile(rb'"parentId"\s*:\s*"([^"\\]+)"')


class Report(Struct, frozen=True):
    """What was found in a file: `entries` that can be used, and problems in the order of the lines."""

    path: str
    header: Header | None
    entries: int
    problems: Sequence[Problem]


class _Line(Struct, frozen=True):
    number: int
    text: bytes
    value: Value


class _File:
    """The lines of a file, sorted by what they are. Contents are kept only if they are wanted."""

    def __init__(self, path: str, *, keep: bool) -> None:
        self._keep = keep
        self.header: Header | None = None
        self.header_value: Value = {}
        self.entries: list[_Line] = []
        self.damaged: list[bytes] = []
        self.problems: list[Problem] = []
        for number, text, torn in _numbered_lines(path):
            self._sort(number, text, torn)
        self._check_tree()
        if self.header is None:
            self._report("no-header", 1, "the file does not begin with a session header")
        self.problems.sort(key=lambda problem: (problem.line, problem.kind != "no-header"))

    def _sort(self, number: int, text: bytes, torn: bool) -> None:
        if not text.strip():
            return
        try:
            value = loads(text)
        except ValueError:
            self.damaged.append(text)
            if torn:
                self._report("torn", number, "the last line is incomplete")
            else:
                self._report("malformed", number, "not valid JSON")
            return
        if not isinstance(value, dict):
            self._report("not-an-entry", number, f"a bare {type(value).__name__}")
        elif value.get("type") == "session":
            header = read_header(value)
            if self.header is None and not self.entries and header is not None:
                self.header, self.header_value = header, value
        else:
            if _id(value) and is_known_type(value) and isinstance(read_entry(text, 0), OpaqueEntry):
                self._report("unreadable", number, f"an entry of type {value['type']!r} without its content")
            if not self._keep:
                text, value = b"", {key: value[key] for key in ("type", "id", "parentId") if key in value}
            self.entries.append(_Line(number, text, value))

    def _check_tree(self) -> None:
        if self.header is not None and self.header.version < 2:
            return  # entries of version 1 have neither ids nor parents
        places = {id: place for place, line in enumerate(self.entries) if (id := _id(line.value))}
        seen: set[str] = set()
        parents: list[int | None] = []
        for line in self.entries:
            id, parent = _id(line.value), line.value.get("parentId")
            if not id:
                self._report("no-id", line.number, f"an entry of type {line.value.get('type')!r} without id")
            elif id in seen:
                self._report("duplicate-id", line.number, f"id {id} was there before; the later entry counts")
            else:
                seen.add(id)
            if isinstance(parent, str) and parent not in places:
                self._report("missing-parent", line.number, f"the parent {parent} is not there")
            elif parent is not None and not isinstance(parent, str):
                self._report("missing-parent", line.number, "the parent is no id")
            parents.append(places.get(parent) if isinstance(parent, str) else None)
        for cycle in find_cycles(parents):
            numbers = sorted(self.entries[place].number for place in cycle)
            self._report("cycle", numbers[0], f"its own ancestor, by way of the lines {', '.join(map(str, numbers))}")

    def _report(self, kind: ProblemKind, line: int, text: str) -> None:
        self.problems.append(Problem(kind, line, text))


def verify(path: str) -> Report:
    """Return what is wrong with the session file at `path`. Raises OSError."""
    path = os.path.abspath(path)
    file = _File(path, keep=False)
    return Report(path, file.header, len(file.entries), file.problems)


def repair(path: str) -> str:
    """Write a copy of a session file in which nothing is wrong, as ``NAME.repaired.jsonl`` beside it; return its path.

    Lines that are no entries are left out. An entry without id gets one, and the entry before it as parent; of
    duplicates the earlier gets a new id. Where a parent is missing, what can be read of a damaged line tells the next
    ancestor, else it is the entry before. A cycle is cut at its first entry. Old versions are migrated. Raises OSError,
    `NewerVersion`, `WriteFailed`.
    """
    path = os.path.abspath(path)
    file = _File(path, keep=True)
    if file.header is not None and file.header.version > VERSION:
        raise NewerVersion(f"{path} is of version {file.header.version}, which this program cannot repair")
    values = [line.value for line in file.entries]
    header: Mapping[str, Any] = file.header_value or _made_header(path)
    if file.header is not None and file.header.version < VERSION:
        header, *migrated = migrate([header, *values])
        values = [dict(value) for value in migrated]
    text = [encode(header), *(_line(file, place, value) for place, value in enumerate(_sound(values, file.damaged)))]
    stem = path.removesuffix(".jsonl")
    number = 1
    while True:
        copy = f"{stem}.repaired{f'-{number}' if number > 1 else ''}.jsonl"
        try:
            create_file(copy, (line + b"\n" for line in text), durable=True)
            return copy
        except FileExistsError:
            number += 1
        except OSError as error:
            raise WriteFailed(f"{copy} cannot be written: {error.strerror}") from error


def _sound(values: Sequence[Value], damaged: Sequence[bytes]) -> list[Value]:
    """Return entries whose ids are unique and whose parents are there."""
    last_place = {id: place for place, value in enumerate(values) if (id := _id(value))}
    taken = set(last_place)
    hints = _hints(damaged)
    sound: list[Value] = []
    for place, value in enumerate(values):
        id, parent = _id(value), value.get("parentId")
        before = sound[-1]["id"] if sound else None
        changes: Value = {}
        if not id or last_place[id] != place:
            changes["id"] = entry_id(taken)
            taken.add(changes["id"])
        if not id and parent is None:
            changes["parentId"] = before
        elif parent is not None and not (isinstance(parent, str) and parent in last_place):
            changes["parentId"] = _next_ancestor(parent, hints, last_place, before)
        sound.append({**value, **changes} if changes else value)
    places = {value["id"]: place for place, value in enumerate(sound)}
    parents = [places.get(value.get("parentId")) for value in sound]
    for cycle in find_cycles(parents):
        first = min(cycle)
        sound[first] = {**sound[first], "parentId": None}
    return sound


def _hints(damaged: Sequence[bytes]) -> dict[str, str | None]:
    """Return what can be read of damaged lines: ids and their parents."""
    hints: dict[str, str | None] = {}
    for text in damaged:
        if id := _READABLE_ID.search(text):
            parent = _READABLE_PARENT.search(text)
            hints[id[1].decode("utf-8", "replace")] = parent[1].decode("utf-8", "replace") if parent else None
    return hints


def _next_ancestor(
    parent: Any, hints: Mapping[str, str | None], known: Mapping[str, int], before: str | None
) -> str | None:
    seen: set[str] = set()
    while isinstance(parent, str) and parent not in known and parent not in seen:
        seen.add(parent)
        parent = hints.get(parent)
    return parent if isinstance(parent, str) and parent in known else before


def _line(file: _File, place: int, value: Value) -> bytes:
    line = file.entries[place]
    return line.text if value is line.value else encode(value)


def _made_header(path: str) -> Value:
    """Return a header in place of a lost one: the id is in the name of the file."""
    id = os.path.basename(path).removesuffix(".jsonl").rpartition("_")[2] or uuid7()
    modified = iso_time(os.stat(path).st_mtime_ns // 1_000_000)
    return {"type": "session", "version": VERSION, "id": id, "timestamp": modified}


def _id(value: Mapping[str, Any]) -> str | None:
    id = value.get("id")
    return id if isinstance(id, str) and id else None


def _numbered_lines(path: str) -> Iterator[tuple[int, bytes, bool]]:
    """Give each line with its number from 1, and whether it is a last one without end."""
    number = 0
    with closing(JsonlStorage(path, read_only=True)) as storage:
        for torn in (False, True):
            for _, text in storage.lines(torn=torn):
                number += 1
                yield number, bytes(text), torn
