"""Cases of retries: which failures are tried again, and when."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from piolet.llm.overflow import is_overflow_text
from piolet.llm.retry import backoff_ms, is_retryable
from tests.conformance.outcome import Skip, equal


def check_case(case: Mapping[str, Any]) -> None:
    given = case["input"]
    if "run" in given:
        raise Skip(f"needs the whole program: {case['expected'].get('property', given['run'])}")
    if given["function"] not in FUNCTIONS:
        raise Skip(f"nothing here does {given['function']!r}")
    function = FUNCTIONS[given["function"]]
    settings = case["setup"].get("settings", {}).get("retry", {})
    equal([function(row, settings) for row in given.get("rows", given.get("values"))], case["expected"]["result"])


def _backoff(attempt: int, settings: Mapping[str, Any]) -> int:
    return backoff_ms(attempt, settings.get("baseDelayMs", 2000), settings.get("maxAgentDelayMs", 60_000))


FUNCTIONS: Mapping[str, Callable[[Any, Mapping[str, Any]], Any]] = {
    "is_retryable": lambda text, settings: is_retryable(text),
    "is_overflow": lambda text, settings: is_overflow_text(text),
    "backoff_ms": _backoff,
}
