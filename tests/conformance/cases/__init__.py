"""Cases drawn from real use: one JSON array per area; the module of that name here has ``check_case(case)``."""

from __future__ import annotations

import importlib
import importlib.util
import json
from collections.abc import Iterator
from pathlib import Path

from tests.conformance.outcome import Outcome, attempt


def check(path: Path) -> Iterator[Outcome]:
    """Apply every case of one file. An area without a module here is skipped by name."""
    for case in json.loads(path.read_text(encoding="utf-8")):
        area = f"tests.conformance.cases.area_{case['area']}"
        if importlib.util.find_spec(area) is None:
            yield Outcome(case["id"], "skipped", f"nothing here applies cases of the area {case['area']!r} yet")
        else:
            module = importlib.import_module(area)
            yield attempt(case["id"], lambda module=module, case=case: module.check_case(case))
