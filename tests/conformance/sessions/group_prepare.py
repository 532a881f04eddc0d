"""What is summarized and what is kept."""

from __future__ import annotations

from typing import Any

from piolet.harness.compaction.prepare import prepare
from tests.conformance.sessions.compaction_vectors import compaction_settings, path, plain
from tests.conformance.sessions.vectors import Matcher, expand


def _prepare(vector: dict[str, Any]) -> None:
    given = vector["input"]
    settings = compaction_settings(given.get("settings", {}))
    planned = prepare(path(given), settings)
    actual = None
    if planned is not None:
        operations = planned.file_ops
        actual = {
            "firstKeptEntryId": planned.first_kept_entry_id,
            "messagesToSummarize": [plain(message) for message in planned.messages_to_summarize],
            "turnPrefixMessages": [_as_given(plain(message)) for message in planned.turn_prefix_messages],
            "isSplitTurn": planned.is_split_turn,
            "tokensBefore": planned.tokens_before,
            "previousSummary": planned.previous_summary,
            "fileOps": {
                "read": list(operations.read),
                "written": list(operations.written),
                "edited": list(operations.edited),
            },
            "settings": {
                "enabled": settings.enabled,
                "reserveTokens": settings.reserve_tokens,
                "keepRecentTokens": settings.keep_recent_tokens,
            },
        }
    Matcher().match({"preparation": actual}, expand(vector["expected"]))


def _as_given(message: dict[str, Any]) -> dict[str, Any]:
    """A result whose content stood as one string in the file is read as one block; show it as it stood."""
    if message["role"] == "toolResult" and len(message["content"]) == 1 and len(message["content"][0]["text"]) > 1500:
        return {**message, "content": message["content"][0]["text"]}
    return message


OPS = {"prepare": _prepare}
