"""Overflow, and answers that stopped early."""

from __future__ import annotations

from typing import Any

import msgspec

from piolet.llm.messages import AssistantMessage
from piolet.llm.overflow import is_overflow, is_recoverable_length
from tests.conformance.outcome import equal


def _overflow(vector: dict[str, Any]) -> None:
    flags = [is_overflow(_message(case), case.get("contextWindow") or 0) for case in vector["input"]["cases"]]
    equal({"overflow": flags}, vector["expected"])


def _recoverable(vector: dict[str, Any]) -> None:
    flags = [is_recoverable_length(_message(case), case.get("maxTokens") or 0) for case in vector["input"]["cases"]]
    equal({"recoverable": flags}, vector["expected"])


def _message(case: dict[str, Any]) -> AssistantMessage:
    return msgspec.convert(case["message"], AssistantMessage)


OPS = {"overflow": _overflow, "recoverable_length": _recoverable}
