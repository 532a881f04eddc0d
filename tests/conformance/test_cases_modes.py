"""Every case about print and RPC mode that lies beside the tests holds."""

from __future__ import annotations

from pathlib import Path

from tests.conformance import cases

DATA = Path(__file__).parents[1] / "data" / "cases" / "modes.json"


def test_cases_hold() -> None:
    outcomes = list(cases.check(DATA))
    assert len(outcomes) > 10
    assert [f"{outcome.name}: {outcome.why}" for outcome in outcomes if outcome.status != "passed"] == []
