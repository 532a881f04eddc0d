"""Effective compaction settings."""

from __future__ import annotations

from typing import Any

from piolet.app.settings import Settings, SettingsError
from tests.conformance.outcome import equal


def _settings(vector: dict[str, Any]) -> None:
    given = vector["input"]
    settings = Settings(given["settings"])
    model = given.get("model")
    try:
        compaction = settings.compaction_for(f"{model['provider']}/{model['id']}") if model else settings.compaction
        branch = settings.branch_summary
    except (SettingsError, ValueError):
        equal({"error": True}, vector["expected"])
        return
    actual = {
        "compaction": {
            "enabled": compaction.enabled,
            "reserveTokens": compaction.reserve_tokens,
            "keepRecentTokens": compaction.keep_recent_tokens,
        },
        "branchSummary": {"reserveTokens": branch.reserve_tokens, "skipPrompt": branch.skip_prompt},
    }
    equal(actual, vector["expected"])


OPS = {"settings": _settings}
