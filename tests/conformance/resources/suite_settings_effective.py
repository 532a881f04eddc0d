"""Values that the accessors report: the first case of the suite lists all, the others what differs from it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from msgspec.structs import asdict

from piolet.app.settings import Settings
from tests.conformance.outcome import equal
from tests.conformance.resources.world import has_failed

NAMES = {
    "compactionSettings": "compaction",
    "branchSummarySettings": "branch_summary",
    "retrySettings": "retry",
    "providerRetrySettings": "provider_retry",
    "themeSetting": "theme",
    "webSocketConnectTimeoutMs": "websocket_connect_timeout_ms",
}
GROUPS = {"compaction", "branch_summary", "retry", "provider_retry"}


def effective(case: dict[str, Any], shared: dict[str, Any]) -> None:
    settings = Settings(case["in"]["global"], case["in"].get("project"))
    for name, default in DEFAULTS.items():
        equal(_value(settings, name), case["out"].get(name, default), name)


def _value(settings: Settings, name: str) -> Any:
    attribute = NAMES.get(name) or re.sub(r"[A-Z]", lambda letter: f"_{letter[0].lower()}", name)
    if has_failed(lambda: getattr(settings, attribute)):
        return {"error": True}
    value = getattr(settings, attribute)
    if attribute in GROUPS:
        camel = {re.sub(r"_(.)", lambda m: m[1].upper(), key): item for key, item in asdict(value).items()}
        return {key: item for key, item in camel.items() if item is not None}
    return value


def _defaults() -> dict[str, Any]:
    data = Path(__file__).parents[2] / "data" / "conformance" / "resources" / "settings-effective.json"
    cases = json.loads(data.read_text(encoding="utf-8"))["cases"]
    return next(case["out"] for case in cases if case["id"] == "eff-defaults")


DEFAULTS = _defaults()
OPS = {"effective": effective}
