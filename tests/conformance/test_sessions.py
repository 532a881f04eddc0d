"""Every session vector that lies beside the tests holds."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance import sessions
from tests.conformance.__main__ import main

DATA = Path(__file__).parents[1] / "data" / "conformance" / "sessions"


@pytest.mark.parametrize("group", sorted(path.name for path in DATA.iterdir() if path.is_dir()))
def test_group_holds(group: str) -> None:
    outcomes = [outcome for file in sorted((DATA / group).glob("*.json")) for outcome in sessions.check(file)]
    assert [f"{outcome.name}: {outcome.why}" for outcome in outcomes if outcome.status == "failed"] == []
    passed = sum(outcome.status == "passed" for outcome in outcomes)
    if not passed:
        pytest.skip(f"nothing applies the group {group} yet")


@pytest.mark.parametrize("storage", ["memory", "sql"])
def test_the_command_applies_vectors_over_another_storage(storage: str, capsys: pytest.CaptureFixture[str]) -> None:
    if storage == "sql":
        pytest.importorskip("sqlalchemy")
    assert main(["sessions", str(DATA / "fork"), "--storage", storage]) == 0
    assert capsys.readouterr().out == "10 passed, 0 failed, 0 skipped\n"
    assert main(["sessions", str(DATA / "naming" / "dirname-unix.json"), "--storage", storage]) == 0
    assert "SKIP" in capsys.readouterr().out
