"""Session and compaction vectors: one vector a file; the module named after its group here has ``OPS``."""

from __future__ import annotations

import importlib
import importlib.util
import json
from collections.abc import Iterator
from pathlib import Path

from tests.conformance.outcome import Outcome, attempt
from tests.conformance.sessions.keeping import keeping
from tests.conformance.sessions.vectors import is_target

#: The groups about what a session is, wherever it is kept; the others are about files, or about no session at all.
ANYWHERE = ("append", "context", "tree", "fork")


def check(path: Path) -> Iterator[Outcome]:
    """Apply one vector: ``OPS[op](vector)`` of the group's module, which raises where the result is wrong.

    Of a pair that shows two programs only the target is applied.
    """
    vector = json.loads(path.read_text(encoding="utf-8"))
    if not is_target(path, vector):
        return
    group, op = vector["name"].split("/")[0], vector["op"]
    if keeping().nameless and group not in ANYWHERE:
        yield Outcome(
            vector["name"], "skipped", f"the group {group!r} does not depend on the storage, or is about files"
        )
        return
    module = f"tests.conformance.sessions.group_{group}"
    if importlib.util.find_spec(module) is None:
        yield Outcome(vector["name"], "skipped", f"nothing here applies vectors of the group {group!r} yet")
        return
    operation = importlib.import_module(module).OPS.get(op)
    if operation is None:
        yield Outcome(vector["name"], "skipped", f"unknown operation {op!r}")
    else:
        yield attempt(vector["name"], lambda: operation(vector))
