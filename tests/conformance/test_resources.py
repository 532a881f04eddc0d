"""Every resource vector that lies beside the tests holds."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance import resources

DATA = Path(__file__).parents[1] / "data" / "conformance" / "resources"


@pytest.mark.parametrize("suite", sorted(path.stem for path in DATA.glob("*.json")))
def test_suite_holds(suite: str) -> None:
    outcomes = list(resources.check(DATA / f"{suite}.json"))
    assert outcomes
    assert [f"{outcome.name}: {outcome.why}" for outcome in outcomes if outcome.status == "failed"] == []
