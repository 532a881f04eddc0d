"""The text that is given to the summarizer."""

from __future__ import annotations

from typing import Any

from piolet.harness.compaction.serialize import serialize_conversation
from piolet.harness.messages import BRANCH_INTRO, COMPACTION_INTRO, convert_to_llm
from tests.conformance.sessions.compaction_vectors import messages, plain
from tests.conformance.sessions.vectors import Matcher, expand


def _expected(vector: dict[str, Any]) -> Any:
    def fill(value: Any) -> Any:
        if isinstance(value, str):
            return value.replace("{BRANCH_INTRO}", BRANCH_INTRO).replace("{COMPACTION_INTRO}", COMPACTION_INTRO)
        if isinstance(value, list):
            return [fill(item) for item in value]
        return {key: fill(item) for key, item in value.items()} if isinstance(value, dict) else value

    return fill(expand(vector["expected"]))


def _serialize(vector: dict[str, Any]) -> None:
    text = serialize_conversation(convert_to_llm(messages(vector["input"])))
    Matcher().match({"text": text}, _expected(vector))


def _to_llm(vector: dict[str, Any]) -> None:
    converted = [plain(message) for message in convert_to_llm(messages(vector["input"]))]
    Matcher().match({"messages": converted}, _expected(vector))


OPS = {"serialize": _serialize, "serialize_agent": _serialize, "to_llm": _to_llm}
