"""The cases of streams, conversion and retries hold, and so does every recording where the recordings are present."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance import cases, cassettes

DATA = Path(__file__).parents[1] / "data" / "cases"
RECORDINGS = Path(__file__).parents[3] / "shared" / "cassettes"


@pytest.mark.parametrize("area", ["stream", "convert", "retry"])
def test_cases_hold(area: str) -> None:
    outcomes = list(cases.check(DATA / f"{area}.json"))
    assert outcomes
    assert [f"{outcome.name}: {outcome.why}" for outcome in outcomes if outcome.status == "failed"] == []


@pytest.mark.skipif(not RECORDINGS.is_dir(), reason="the recordings are not next to the repository")
def test_recordings_hold() -> None:
    outcomes = [outcome for path in sorted(RECORDINGS.rglob("*.json")) for outcome in cassettes.check(path)]
    assert outcomes
    assert [f"{outcome.name}: {outcome.why}" for outcome in outcomes if outcome.status == "failed"] == []
