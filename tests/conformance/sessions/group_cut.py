"""Where a branch is cut."""

from __future__ import annotations

from typing import Any

from piolet.harness.compaction.cut import Projected, find_cut_point, find_turn_start
from tests.conformance.outcome import equal
from tests.conformance.sessions.compaction_vectors import entries


def _cut(vector: dict[str, Any]) -> None:
    given = vector["input"]
    branch = Projected.of(entries(given))
    cut = find_cut_point(branch, given["keepRecentTokens"], given.get("start", 0), given.get("end"))
    actual = {"firstKeptEntryIndex": cut.index, "turnStartIndex": cut.turn_start, "isSplitTurn": cut.is_split}
    equal(actual, vector["expected"])


def _turn_start(vector: dict[str, Any]) -> None:
    given = vector["input"]
    index = find_turn_start(Projected.of(entries(given)), given["entryIndex"], given.get("start", 0))
    equal({"index": index}, vector["expected"])


OPS = {"cut_point": _cut, "turn_start": _turn_start}
