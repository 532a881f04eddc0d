"""Transcripts of print, JSON and RPC mode: the whole program against a scripted model server, one scenario a file."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.conformance.modes.compare import check_requests, check_session_files, check_stderr, check_stdout
from tests.conformance.modes.extension import written_anew
from tests.conformance.modes.scenario import play
from tests.conformance.outcome import Outcome, attempt


def check(path: Path) -> Iterator[Outcome]:
    """Play one scenario and compare with ``expected_1_6`` where the file has it, else ``expected``."""
    scenario = json.loads(path.read_text(encoding="utf-8"))
    yield attempt(scenario["name"], lambda: check_scenario(scenario))


def check_scenario(scenario: dict[str, Any]) -> None:
    if "extension" in scenario:
        scenario = _with_our_extension(scenario)
    expected = scenario.get("expected_1_6") or scenario["expected"]
    played = play(scenario)
    assert played.exit == expected["exit"], f"exit {played.exit}, expected {expected['exit']}: {played.stderr[-400:]}"
    check_stdout(played, expected)
    check_stderr(played, expected)
    check_requests(played, expected)
    check_session_files(played, expected)


def _with_our_extension(scenario: dict[str, Any]) -> dict[str, Any]:
    """Return the scenario with the extension as a Python file in place of the recorded script."""
    scripts = [name for name in scenario["files"] if name.endswith((".ts", ".js"))]
    files = {name: content for name, content in scenario["files"].items() if name not in scripts}
    files |= {name.rpartition(".")[0] + ".py": written_anew(scenario["extension"]) for name in scripts}
    argv = [re.sub(r"\.(ts|js)$", ".py", word) for word in scenario["argv"]]
    return {**scenario, "files": files, "argv": argv}
