"""Every case about resources that lies beside the tests holds."""

from __future__ import annotations

from pathlib import Path

from tests.conformance import cases

DATA = Path(__file__).parents[1] / "data" / "cases" / "resources.json"


def test_cases_hold() -> None:
    outcomes = list(cases.check(DATA))
    assert sum(outcome.status == "passed" for outcome in outcomes) >= 11
    assert [f"{outcome.name}: {outcome.why}" for outcome in outcomes if outcome.status == "failed"] == []
