"""The wider union of messages, read tolerantly: what is refused strictly is repaired, then kept as opaque."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from piolet.harness.messages import (
    AgentMessage,
    BashExecutionMessage,
    BranchSummaryMessage,
    CompactionSummaryMessage,
    CustomMessage,
    OpaqueMessage,
    SystemMessage,
)
from piolet.llm.normalize import fit, normalize_content
from piolet.llm.normalize import normalize_message as normalize_llm_message


def normalize_message(raw: Mapping[str, Any], timestamp: int) -> AgentMessage:
    """Return `raw` as the message of its role; as an `OpaqueMessage` if the role is unknown or nothing else fits.

    `timestamp` (Unix milliseconds) stands in for a missing one.
    """
    make = _MAKERS.get(str(raw.get("role")))
    try:
        if make is not None:
            return make(raw, {"timestamp": timestamp})
        return normalize_llm_message(raw, timestamp) or OpaqueMessage(raw)
    except ValueError:
        return OpaqueMessage(raw)


def _custom(raw: Mapping[str, Any], times: Mapping[str, Any]) -> CustomMessage:
    given = {"content": normalize_content(raw.get("content"))}
    return fit(CustomMessage, raw, given, {**times, "custom_type": "", "display": True})


def _bash(raw: Mapping[str, Any], times: Mapping[str, Any]) -> BashExecutionMessage:
    defaults = {"command": "", "output": "", "cancelled": False, "truncated": False}
    return fit(BashExecutionMessage, raw, {}, {**times, **defaults})


def _branch_summary(raw: Mapping[str, Any], times: Mapping[str, Any]) -> BranchSummaryMessage:
    return fit(BranchSummaryMessage, raw, {}, {**times, "summary": "", "from_id": "root"})


def _compaction_summary(raw: Mapping[str, Any], times: Mapping[str, Any]) -> CompactionSummaryMessage:
    return fit(CompactionSummaryMessage, raw, {}, {**times, "summary": "", "tokens_before": 0})


def _system(raw: Mapping[str, Any], times: Mapping[str, Any]) -> SystemMessage:
    content = normalize_content(raw.get("content")) or ""
    return fit(SystemMessage, raw, {"content": content}, times)


_MAKERS: dict[str, Callable[[Mapping[str, Any], Mapping[str, Any]], AgentMessage]] = {
    "custom": _custom,
    "bashExecution": _bash,
    "branchSummary": _branch_summary,
    "compactionSummary": _compaction_summary,
    "system": _system,
}
