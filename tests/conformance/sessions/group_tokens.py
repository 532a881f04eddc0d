"""Token estimates and the trigger."""

from __future__ import annotations

from typing import Any

from piolet.harness.compaction.estimate import (
    ContextEstimate,
    estimate_context,
    estimate_projected,
    message_tokens,
    project,
    usable_usage,
)
from piolet.harness.compaction.settings import should_compact
from piolet.harness.session.entries import MessageEntry
from tests.conformance.outcome import equal
from tests.conformance.sessions.compaction_vectors import compaction_settings, messages, path, plain


def _estimate(vector: dict[str, Any]) -> None:
    equal({"tokens": [message_tokens(m) for m in messages(vector["input"])]}, vector["expected"])


def _record(estimate: ContextEstimate) -> dict[str, Any]:
    return {
        "tokens": estimate.tokens,
        "usageTokens": estimate.usage_tokens,
        "trailingTokens": estimate.trailing_tokens,
        "lastUsageIndex": estimate.last_usage_index,
    }


def _context_tokens(vector: dict[str, Any]) -> None:
    equal(_record(estimate_context(messages(vector["input"]))), vector["expected"])


def _projected(vector: dict[str, Any]) -> None:
    equal(_record(estimate_projected(project(path(vector["input"])))), vector["expected"])


def _should_compact(vector: dict[str, Any]) -> None:
    given = vector["input"]
    settings = compaction_settings(given["settings"])
    compact = should_compact(given["contextTokens"], given["contextWindow"], settings)
    equal({"compact": compact}, vector["expected"])


def _last_usage(vector: dict[str, Any]) -> None:
    entries = reversed(path(vector["input"]))
    usage = next((usage for e in entries if isinstance(e, MessageEntry) and (usage := usable_usage(e.message))), None)
    equal({"usage": None if usage is None else plain(usage)}, vector["expected"])


OPS = {
    "estimate": _estimate,
    "context_tokens": _context_tokens,
    "projected_tokens": _projected,
    "should_compact": _should_compact,
    "last_usage": _last_usage,
}
