"""Old versions of the session format, brought to version 3 (session format, section 13)."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from piolet.base.files import replace_file
from piolet.base.ids import entry_id
from piolet.base.json import encode
from piolet.base.locks import exclusive
from piolet.harness.session.entries import VERSION
from piolet.harness.session.jsonl import LOCK_SECONDS, JsonlStorage
from piolet.harness.session.storage import parsed_lines


def migrate(values: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the parsed lines of a file, header first, as version 3; version 3 and newer come back as they are."""
    version = _version(values)
    if version >= VERSION:
        return list(values)
    if version < 2:
        values = _number(values)
    header = {**values[0], "version": VERSION}
    return [header, *(_rename_hook_message(value) for value in values[1:])]


def migrated_text(path: str) -> bytes:
    """Return what the file at `path` would be after its migration. The file is not touched."""
    return b"".join(encode(value) + b"\n" for value in migrate(_values(path)))


def migrate_file(path: str) -> None:
    """Rewrite an old file as version 3. The old one is kept beside it as ``NAME.v1.bak`` or ``NAME.v2.bak``.

    A backup that is there already is left as it is. Raises OSError; the file is then as it was.
    """
    path = os.path.realpath(path)
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        with exclusive(fd, LOCK_SECONDS):
            values = _values(path)
            version = _version(values)
            if version >= VERSION:
                return  # another process was faster
            backup = f"{path}.v{version}.bak"
            with contextlib.suppress(FileExistsError):
                _keep(path, backup)
            replace_file(Path(path), b"".join(encode(value) + b"\n" for value in migrate(values)))
    finally:
        os.close(fd)


def _keep(path: str, backup: str) -> None:
    try:
        os.link(path, backup)
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        if not os.path.exists(backup):
            shutil.copy2(path, backup)


def _values(path: str) -> list[Mapping[str, Any]]:
    return [value for _, value in parsed_lines(JsonlStorage(path, read_only=True)) if isinstance(value, Mapping)]


def _version(values: Sequence[Mapping[str, Any]]) -> int:
    version = values[0].get("version", 1)
    return int(version) if isinstance(version, int | float) else 1


def _number(values: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Give every entry an id and the entry before it as parent; indices of kept entries become ids."""
    numbered: list[Mapping[str, Any]] = []
    ids: set[str] = set()
    last: str | None = None
    for value in values:
        if value.get("type") != "session":
            id = entry_id(ids)
            ids.add(id)
            value = {**value, "id": id, "parentId": last}
            last = id
        numbered.append(value)
        if value.get("type") == "compaction":
            numbered[-1] = _with_kept_id(value, numbered)
    return numbered


def _with_kept_id(compaction: Mapping[str, Any], numbered: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    rest = {key: value for key, value in compaction.items() if key != "firstKeptEntryIndex"}
    place = compaction.get("firstKeptEntryIndex")
    if isinstance(place, int) and 0 <= place < len(numbered) and numbered[place].get("type") != "session":
        rest["firstKeptEntryId"] = numbered[place]["id"]
    return rest


def _rename_hook_message(value: Mapping[str, Any]) -> Mapping[str, Any]:
    message = value.get("message")
    if value.get("type") == "message" and isinstance(message, Mapping) and message.get("role") == "hookMessage":
        return {**value, "message": {**message, "role": "custom"}}
    return value
