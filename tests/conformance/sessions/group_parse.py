"""Splitting and tolerant parsing of session files."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from piolet.harness.session.jsonl import JsonlStorage
from piolet.harness.session.storage import parsed_lines
from tests.conformance.sessions.vectors import Matcher, file_bytes


def parse(vector: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s.jsonl"
        path.write_bytes(file_bytes(vector["input"]))
        entries = [value for _, value in parsed_lines(JsonlStorage(str(path), read_only=True))]
    Matcher().match(entries, vector["expected"]["entries"])


OPS = {"parse": parse}
