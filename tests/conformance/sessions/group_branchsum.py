"""Branch summaries."""

from __future__ import annotations

import asyncio
from typing import Any

from piolet.harness.compaction.branch import left_branch, prepare_branch, summarize_branch
from piolet.harness.compaction.summarize import SummaryAborted, SummaryFailed
from tests.conformance.sessions.compaction_vectors import FakeModel, entries, path, plain, templated
from tests.conformance.sessions.vectors import Matcher, expand


def _collect(vector: dict[str, Any]) -> None:
    given = vector["input"]
    old = given.get("oldLeafId")
    left = left_branch(path(given, old) if old else [], path(given, given["targetId"]))
    actual = {"entryIds": [entry.id for entry in left.entries], "commonAncestorId": left.common_ancestor_id}
    Matcher().match(actual, expand(vector["expected"]))


def _prepare(vector: dict[str, Any]) -> None:
    given = vector["input"]
    material = prepare_branch(entries(given), given["tokenBudget"])
    operations = material.file_ops
    actual = {
        "messages": [plain(message) for message in material.messages],
        "totalTokens": material.total_tokens,
        "fileOps": {
            "read": list(operations.read),
            "written": list(operations.written),
            "edited": list(operations.edited),
        },
    }
    Matcher().match(actual, expand(vector["expected"]))


def _summary(vector: dict[str, Any]) -> None:
    given = vector["input"]
    fake = FakeModel(given)
    result: dict[str, Any]
    try:
        summary = asyncio.run(
            summarize_branch(
                fake.summarizer,
                entries(given),
                given.get("reserveTokens", 16384),
                given.get("customInstructions"),
                replace_instructions=given.get("replaceInstructions", False),
            )
        )
    except SummaryAborted:
        result = {"aborted": True}
    except SummaryFailed:
        result = {"error": True}
    else:
        result = {"summary": templated(summary.text), **summary.details}
        if summary.usage is not None:
            result["usage"] = plain(summary.usage)
    requests, distinct = fake.described()
    actual = {"requests": requests, "distinctSessionIds": distinct, "result": result}
    Matcher().match(actual, expand(vector["expected"]))


OPS = {"branch_collect": _collect, "branch_prepare": _prepare, "branch_summary": _summary}
