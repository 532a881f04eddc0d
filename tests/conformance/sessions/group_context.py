"""Entries become what the model sees."""

from __future__ import annotations

import tempfile
from typing import Any

from piolet.base.json import to_plain
from piolet.harness.messages import BranchSummaryMessage, CompactionSummaryMessage
from piolet.harness.session.context import SessionContext, build_context
from piolet.llm.messages import text_of
from tests.conformance.sessions.keeping import keeping
from tests.conformance.sessions.vectors import Matcher, expand, file_bytes


def context(vector: dict[str, Any]) -> None:
    given = vector["input"]
    leaf = given.get("leafId", ...)
    with (
        tempfile.TemporaryDirectory() as folder,
        keeping().put(file_bytes(given), folder, read_only=True) as session,
    ):
        built = [session.build_context(leaf), build_context(session.entries, leaf)]
    for result in built:
        model = result.model
        actual = {
            "contextEntryIds": [entry.id for entry in result.entries],
            "messages": [to_plain(message) for message in result.messages],
            "thinkingLevel": result.thinking_level,
            "model": None if model is None else {"provider": model.provider, "modelId": model.model_id},
        }
        Matcher().match(actual, expand(vector["expected"]))


def context_texts(vector: dict[str, Any]) -> None:
    given, expected = vector["input"], vector["expected"]
    before = file_bytes(given)
    with tempfile.TemporaryDirectory() as folder:
        with keeping().put(before, folder) as session:
            actual: dict[str, Any] = {"defaultLeaf": session.leaf_id, "leaves": {}}
            for leaf in given["leaves"]:
                wanted = expected["leaves"].get(leaf, {})
                shown = _texts(session.build_context(leaf))
                actual["leaves"][leaf] = {key: shown[key] for key in wanted}
        if "fileUnchanged" in expected:
            actual["fileUnchanged"] = keeping().content(session) == before
    Matcher().match(actual, expand(expected))


def _texts(built: SessionContext) -> dict[str, Any]:
    texts = []
    for message in built.messages:
        if isinstance(message, BranchSummaryMessage | CompactionSummaryMessage):
            texts.append(message.summary)
        else:
            texts.append(text_of(getattr(message, "content", ""), "\n"))
    model = built.model
    return {
        "roles": [message.role for message in built.messages],
        "texts": texts,
        "thinkingLevel": built.thinking_level,
        "model": None if model is None else {"provider": model.provider, "modelId": model.model_id},
    }


OPS = {"context": context, "context_texts": context_texts}
