"""Resource vectors: one suite a file; the module ``suite_NAME`` here has ``OPS: {op: check(case, shared)}``.

`shared` is the suite without its cases. A check raises where the result is wrong.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
from collections.abc import Iterator
from pathlib import Path

from tests.conformance.outcome import Outcome, attempt


def check(path: Path) -> Iterator[Outcome]:
    """Apply every case of one suite."""
    shared = json.loads(path.read_text(encoding="utf-8"))
    cases, suite = shared.pop("cases"), shared["suite"]
    module = f"{__name__}.suite_{suite.replace('-', '_')}"
    if importlib.util.find_spec(module) is None:
        for case in cases:
            yield Outcome(f"{suite}/{case['id']}", "skipped", f"nothing here applies the suite {suite!r} yet")
        return
    operations = importlib.import_module(module).OPS
    for case in cases:
        operation = operations.get(case["op"])
        name = f"{suite}/{case['id']}"
        if operation is None:
            yield Outcome(name, "skipped", f"unknown operation {case['op']!r}")
        else:
            yield attempt(name, lambda operation=operation, case=case: operation(case, shared))
