"""Every case about security that lies beside the tests holds."""

from __future__ import annotations

from pathlib import Path

from tests.conformance import cases

DATA = Path(__file__).parents[1] / "data" / "cases" / "security.json"


def test_cases_hold() -> None:
    outcomes = list(cases.check(DATA))
    assert len([outcome for outcome in outcomes if outcome.status == "passed"]) >= 9
    assert [f"{outcome.name}: {outcome.why}" for outcome in outcomes if outcome.status == "failed"] == []
