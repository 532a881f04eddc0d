"""Every mode transcript that lies beside the tests holds."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance import modes

DATA = Path(__file__).parents[1] / "data" / "conformance" / "modes"


@pytest.mark.parametrize("name", sorted(path.stem for path in DATA.glob("*.json")))
def test_transcript_holds(name: str) -> None:
    (outcome,) = modes.check(DATA / f"{name}.json")
    if outcome.status == "skipped":
        pytest.skip(outcome.why)
    assert outcome.status == "passed", outcome.why
