"""Branch copy, cross-project fork, export."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from piolet.base.json import loads
from piolet.harness.session.copying import export_jsonl, fork_from
from piolet.harness.session.errors import SessionError
from piolet.harness.session.session import Session
from tests.conformance.sessions.group_append import script
from tests.conformance.sessions.vectors import Matcher, expand, file_bytes


def fork_from_file(vector: dict[str, Any]) -> None:
    given, expected = vector["input"], expand(vector["expected"])
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "src.jsonl"
        source.write_bytes(file_bytes(given))
        actual: dict[str, Any] = {}
        try:
            # The vectors show what pi copies from old files; by default they are migrated (section 9: "better").
            session = fork_from(
                str(source), given["targetCwd"], os.path.join(folder, "out"), given.get("id"), migrate=False
            )
            path = Path(session.path or "")
            lines = [loads(line) for line in path.read_bytes().split(b"\n") if line]
            actual = {"fileName": path.name, "lines": lines, "leafId": session.leaf_id}
            session.close()
        except SessionError:
            actual["error"] = True
        Matcher(DIR=folder).match({key: item for key, item in actual.items() if key in expected}, expected)


def export_branch(vector: dict[str, Any]) -> None:
    given = vector["input"]
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "s.jsonl"
        source.write_bytes(file_bytes(given))
        with Session.open(str(source), read_only=True) as session:
            path = export_jsonl(session, os.path.join(folder, "new", "out.jsonl"), given.get("leafId", ...))
        text = Path(path).read_bytes()
        assert text.endswith(b"\n")
        lines = [loads(line) for line in text.split(b"\n") if line]
        Matcher(DIR=folder).match({"lines": lines}, expand(vector["expected"]))


OPS = {"script": script, "fork_from": fork_from_file, "export_branch": export_branch}
