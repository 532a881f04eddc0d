"""A whole compaction with a fake model."""

from __future__ import annotations

import asyncio
from typing import Any

from piolet.harness.compaction.prepare import prepare
from piolet.harness.compaction.summarize import SummaryAborted, SummaryFailed
from tests.conformance.sessions.compaction_vectors import FakeModel, compaction_settings, path, plain, templated
from tests.conformance.sessions.vectors import Matcher, expand


def _compact(vector: dict[str, Any]) -> None:
    given = vector["input"]
    preparation = prepare(path(given), compaction_settings(given.get("settings", {})))
    assert preparation is not None, "nothing to compact"
    fake = FakeModel(given)
    result: dict[str, Any] = {}
    try:
        summary = asyncio.run(fake.summarizer.compact(preparation, given.get("customInstructions")))
    except SummaryAborted:
        result = {"aborted": True}
    except SummaryFailed:
        pass
    else:
        result = {
            "summary": templated(summary.text),
            "firstKeptEntryId": preparation.first_kept_entry_id,
            "tokensBefore": preparation.tokens_before,
            "usage": plain(summary.usage),
            "details": summary.details,
        }
    requests, distinct = fake.described()
    outcome = {"result": result} if result else {"failed": True}
    actual = {"requests": requests, "distinctSessionIds": distinct, **outcome}
    Matcher().match(actual, expand(vector["expected"]))


OPS = {"compact": _compact}
