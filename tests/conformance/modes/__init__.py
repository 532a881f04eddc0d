"""Transcripts of print, JSON and RPC mode: the whole program against a scripted model server, one scenario a file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.conformance.modes.compare import check_requests, check_session_files, check_stderr, check_stdout
from tests.conformance.modes.scenario import play
from tests.conformance.outcome import Outcome, Skip, attempt


def check(path: Path) -> Iterator[Outcome]:
    """Play one scenario and compare with ``expected_1_6`` where the file has it, else ``expected``."""
    scenario = json.loads(path.read_text(encoding="utf-8"))
    yield attempt(scenario["name"], lambda: check_scenario(scenario))


def check_scenario(scenario: dict[str, Any]) -> None:
    if "extension" in scenario:
        raise Skip("needs the recorded extension written anew")
    expected = scenario.get("expected_1_6") or scenario["expected"]
    played = play(scenario)
    assert played.exit == expected["exit"], f"exit {played.exit}, expected {expected['exit']}: {played.stderr[-400:]}"
    check_stdout(played, expected)
    check_stderr(played, expected)
    check_requests(played, expected)
    check_session_files(played, expected)
