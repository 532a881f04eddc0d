"""Folder name of a working directory, permitted ids."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

from piolet.harness.session.naming import default_folder, is_session_id
from tests.conformance.sessions.vectors import Matcher


def dirname(vector: dict[str, Any]) -> None:
    folder = PurePath(default_folder("/agent", vector["input"]["cwd"]))
    actual = {"dirname": folder.name, "under": folder.parent.name}
    Matcher().match({key: actual[key] for key in vector["expected"]}, vector["expected"])


def session_id(vector: dict[str, Any]) -> None:
    Matcher().match({"valid": is_session_id(vector["input"]["id"])}, vector["expected"])


OPS = {"dirname": dirname, "session_id": session_id}
