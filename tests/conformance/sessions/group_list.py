"""Listing of a folder, and the most recent session."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from piolet.base.ids import iso_time, parse_time
from piolet.harness.session.places import SessionPlace
from tests.conformance.sessions.vectors import Matcher, file_bytes


def listing(vector: dict[str, Any]) -> None:
    given, expected = vector["input"], vector["expected"]
    with tempfile.TemporaryDirectory() as folder:
        for file in given["files"]:
            path = Path(folder) / file["name"]
            path.write_bytes(file_bytes(file))
            seconds = (parse_time(file["mtime"]) or 0) / 1000
            os.utime(path, (seconds, seconds))
        place = SessionPlace.of(given["cwd"], "/agent", folder)
        sessions = []
        for info in place.sessions():
            shown = {
                "path": os.path.basename(info.path),
                "id": info.id,
                "cwd": info.cwd,
                "created": iso_time(info.created),
                "modified": iso_time(info.modified),
                "messageCount": info.message_count,
                "firstMessage": info.first_message,
                "allMessagesText": info.all_messages_text,
                "name": info.name,
                "parentSessionPath": info.parent_session_path,
            }
            sessions.append({key: value for key, value in shown.items() if value is not None})
        actual = {
            "sessions": sessions,
            "mostRecentForCwd": _name(place.most_recent()),
            "mostRecentAny": _name(SessionPlace(given["cwd"], folder, folder, flat=False).most_recent()),
        }
        Matcher(DIR=folder).match({key: actual[key] for key in expected}, expected)


def _name(path: str | None) -> str | None:
    return None if path is None else os.path.basename(path)


OPS = {"list": listing}
