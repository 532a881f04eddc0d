"""Branch copy, cross-project fork, export."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from piolet.base.json import loads
from piolet.harness.session.copying import export_jsonl
from piolet.harness.session.errors import SessionError
from tests.conformance.sessions.group_append import script
from tests.conformance.sessions.keeping import keeping
from tests.conformance.sessions.vectors import Matcher, expand, file_bytes


def fork_from_file(vector: dict[str, Any]) -> None:
    given, expected = vector["input"], expand(vector["expected"])
    with tempfile.TemporaryDirectory() as folder:
        actual: dict[str, Any] = {}
        try:
            session = keeping().fork(file_bytes(given), folder, given["targetCwd"], given.get("id"))
            lines = [loads(line) for line in (keeping().content(session) or b"").split(b"\n") if line]
            actual = {"fileName": os.path.basename(session.path or ""), "lines": lines, "leafId": session.leaf_id}
            session.close()
        except SessionError:
            actual["error"] = True
        if keeping().nameless:
            expected.pop("fileName", None)
        Matcher(DIR=folder).match({key: item for key, item in actual.items() if key in expected}, expected)


def export_branch(vector: dict[str, Any]) -> None:
    given = vector["input"]
    with tempfile.TemporaryDirectory() as folder:
        with keeping().put(file_bytes(given), folder, read_only=True) as session:
            path = export_jsonl(session, os.path.join(folder, "new", "out.jsonl"), given.get("leafId", ...))
        text = Path(path).read_bytes()
        assert text.endswith(b"\n")
        lines = [loads(line) for line in text.split(b"\n") if line]
        Matcher(DIR=folder).match({"lines": lines}, expand(vector["expected"]))


OPS = {"script": script, "fork_from": fork_from_file, "export_branch": export_branch}
