"""Every case about the terminal that lies beside the tests holds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.cases import area_tui

DATA = Path(__file__).parents[1] / "data" / "cases" / "tui.json"
CASES = json.loads(DATA.read_text())


def test_all_cases_are_there() -> None:
    assert len(CASES) == 10


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_case_holds(case: dict[str, Any]) -> None:
    area_tui.check_case(case)
