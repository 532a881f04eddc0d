"""Opening a file: header rules, leaf, name, repair, refusal."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

from piolet.app.opening import open_file as open_in_product
from piolet.base.json import to_plain
from piolet.harness.session.errors import MissingCwd, SessionError
from piolet.harness.session.session import Session
from tests.conformance.sessions.vectors import Matcher, expand, file_bytes


def open_file(vector: dict[str, Any]) -> None:
    given, expected = vector["input"], vector["expected"]
    before = file_bytes(given) if "jsonl" in given or "jsonl_base64" in given else None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s.jsonl"
        if before is not None:
            path.write_bytes(before)
        actual: dict[str, Any] = {}
        try:
            with Session.open(str(path), given.get("cwdOverride")) as session:
                actual = {
                    "sessionId": session.id,
                    "header": to_plain(session.header),
                    "entryIds": [head.id for head in session.heads],
                    "leafId": session.leaf_id,
                    "name": session.name,
                    "cwd": session.cwd,
                }
        except SessionError:
            actual["error"] = True
        after = path.read_bytes() if path.exists() else None
        actual["fileUnchanged"] = before == after
        if "fileAppended" in expected:
            assert (after or b"").startswith(before or b"")
            actual["fileAppended"] = (after or b"")[len(before or b"") :].decode()
        if "fileLines" in expected:
            actual["fileLines"] = [json.loads(line) for line in (after or b"").decode().split("\n") if line]
        Matcher(DIR=folder, PROCESS_CWD=os.getcwd()).match(actual, expand(expected))


def missing_cwd(vector: dict[str, Any]) -> None:
    fallback = "/home/dev/current"
    expected = vector["expected"]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s.jsonl"
        path.write_bytes(file_bytes(vector["input"]))
        told = None
        try:
            open_in_product(str(path), fallback).close()
        except MissingCwd as error:
            told = str(error)
    assert (told is not None) == expected["missing"]
    if told is not None:
        assert all(named in told for named in (expected["sessionCwd"], expected["fallbackCwd"], str(path))), told


OPS = {"open": open_file, "missing_cwd": missing_cwd}
