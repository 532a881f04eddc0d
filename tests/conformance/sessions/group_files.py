"""File lists and the tags behind a summary."""

from __future__ import annotations

from typing import Any

from piolet.harness.compaction.files import FileOperations
from tests.conformance.outcome import equal
from tests.conformance.sessions.compaction_vectors import messages


def _file_ops(vector: dict[str, Any]) -> None:
    operations = FileOperations()
    operations.add_messages(messages(vector["input"]))
    equal({**operations.details(), "text": operations.tags()}, vector["expected"])


OPS = {"file_ops": _file_ops}
