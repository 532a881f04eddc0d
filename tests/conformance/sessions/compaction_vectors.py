"""What the groups about compaction share: entries and messages of a vector as records, a scripted model."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Any

import msgspec

from piolet.base.json import to_plain
from piolet.harness.compaction import wording
from piolet.harness.compaction.settings import CompactionSettings
from piolet.harness.compaction.summarize import Summarizer
from piolet.harness.messages import AgentMessage
from piolet.harness.normalize import normalize_message
from piolet.harness.session.entries import Entry
from piolet.harness.session.session import Session
from piolet.llm.messages import NO_USAGE, AssistantMessage, Usage
from piolet.llm.model import Context, Model, ModelCost, StreamOptions
from tests.conformance.sessions.vectors import expand, file_bytes

_UUID7 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
_DEFAULT_USAGE = {
    "input": 10,
    "output": 5,
    "cacheRead": 0,
    "cacheWrite": 0,
    "totalTokens": 15,
    "cost": {"input": 0.1, "output": 0.2, "cacheRead": 0, "cacheWrite": 0, "total": 0.3},
}


def plain(value: Any) -> Any:
    return to_plain(value)


def messages(given: dict[str, Any]) -> list[AgentMessage]:
    return [normalize_message(message, 0) for message in expand(given["messages"])]


def entries(given: dict[str, Any]) -> list[Entry]:
    """All entries of the vector's file, in order."""
    return _with_session(given, lambda session: session.entries)


def path(given: dict[str, Any], leaf: Any = ...) -> list[Entry]:
    """The branch that ends in `leaf`, by default the last entry."""
    return _with_session(given, lambda session: session.path_to(leaf))


def _with_session(given: dict[str, Any], take: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "s.jsonl"
        file.write_bytes(file_bytes(given))
        with Session.open(str(file), read_only=True) as session:
            return take(session)


def compaction_settings(given: dict[str, Any]) -> CompactionSettings:
    return CompactionSettings(
        given.get("enabled", True), given.get("reserveTokens", 16384), given.get("keepRecentTokens", 20000)
    )


class FakeModel:
    """Plays the `replies` of a vector and notes what it was asked."""

    def __init__(self, given: dict[str, Any]) -> None:
        fields = {"reasoning": False, "maxTokens": 32000, "contextWindow": 200000, **given.get("model", {})}
        self.model = Model(
            "m1",
            "m1",
            "x",
            "p1",
            "",
            fields["reasoning"],
            ["text"],
            ModelCost(),
            fields["contextWindow"],
            fields["maxTokens"],
        )
        self.requests: list[tuple[Context, StreamOptions]] = []
        self._replies = list(given["replies"])
        self.summarizer = Summarizer(self._ask, self.model, StreamOptions(), given.get("thinkingLevel", "off"))

    async def _ask(self, model: Model, context: Context, options: StreamOptions) -> AssistantMessage:
        self.requests.append((context, options))
        reply = self._replies.pop(0)
        content = reply.get("content") or ([{"type": "text", "text": reply["text"]}] if "text" in reply else [])
        usage = msgspec.convert(reply.get("usage", _DEFAULT_USAGE), Usage)
        message = {
            "role": "assistant",
            "content": content,
            "api": "x",
            "provider": "p1",
            "model": "m1",
            "usage": plain(NO_USAGE),
            "stopReason": reply.get("stopReason", "stop"),
            "timestamp": 0,
            **({"errorMessage": reply["errorMessage"]} if "errorMessage" in reply else {}),
        }
        answer = msgspec.convert(message, AssistantMessage)
        return msgspec.structs.replace(answer, usage=usage)

    def described(self) -> tuple[list[dict[str, Any]], bool]:
        """The requests in the form of the vectors, and whether no session id was used twice."""
        records = []
        for context, options in self.requests:
            message = context.messages[0]
            assert not isinstance(message.content, str)
            records.append(
                {
                    "userMessages": len(context.messages),
                    "hasSystemPrompt": bool(context.system_prompt),
                    "hasTools": bool(context.tools),
                    "prompt": templated("".join(block.text for block in message.content)),  # type: ignore[union-attr]
                    "cacheRetention": options.cache_retention,
                    "maxTokens": options.max_tokens,
                    "reasoning": options.reasoning,
                    "sessionIdIsUuidV7": bool(_UUID7.fullmatch(options.session_id or "")),
                }
            )
        ids = [options.session_id for _, options in self.requests]
        return records, len(set(ids)) == len(ids)


def templated(text: str) -> str:
    """Put the placeholders of the vectors where our own wording stands."""
    for instructions in (wording.FIRST, wording.UPDATE, wording.TURN_PREFIX, wording.BRANCH):
        text = text.replace(instructions, "{INSTRUCTIONS}")
    text = text.replace(wording.BRANCH_PREAMBLE, "{BRANCH_PREAMBLE}").replace(wording.NO_BRANCH_CONTENT, "{NO_CONTENT}")
    return re.sub(rf"^{re.escape(wording.NO_HISTORY)}", "{NO_HISTORY}", text)
