"""When compaction and recovery run: the whole program in JSON mode with a scripted model."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.conformance.outcome import equal
from tests.support.run import Place
from tests.support.server import Request, ScriptedServer

_EVENTS = (
    "agent_start",
    "agent_end",
    "agent_settled",
    "compaction_start",
    "compaction_end",
    "message_end",
    "auto_retry_start",
    "auto_retry_end",
    "entry_appended",
)


def _e2e(vector: dict[str, Any]) -> None:
    given = vector["input"]
    script = _Script(given["mainReplies"], given["summaryReplies"])
    with tempfile.TemporaryDirectory(prefix="piolet-e2e-") as folder, ScriptedServer(script.reply) as server:
        place = Place.below(Path(folder))
        model = {"id": "m", "contextWindow": 128000, "maxTokens": 8192, **given.get("model", {})}
        place.write_models(server.url, models=[model])
        place.write_settings(given["settings"])
        done = place.run("--mode", "json", "--model", "stub/m", *given["prompts"], timeout=60)
        assert "Traceback" not in done.stderr, done.stderr[-800:]
        lines = [json.loads(line) for file in place.sessions() for line in file.read_text().split("\n") if line]
    expected = _without_system(vector["expected"])
    actual = {
        "exitCode": done.exit,
        "entries": [_entry(line, lines) for line in lines],
        "events": [_event(record) for record in done.records if record["type"] in _EVENTS],
        "requests": script.requests,
    }
    wanted = {name: expected[name] for name in actual if name in expected}
    kinds = {event["type"] for event in wanted.get("events", [])}
    actual["events"] = [event for event in actual["events"] if event["type"] in kinds]
    if "requests" in wanted:
        actual["requests"] = [
            {key: mine[key] for key in theirs if key in mine}
            for mine, theirs in zip(script.requests, wanted["requests"], strict=True)
        ]
    for name, value in wanted.items():
        equal(_as_listed(actual[name], value), value, name)


class _Script:
    """Answers summary requests and others from their own lists; the last reply of each repeats."""

    def __init__(self, main: list[Any], summaries: list[Any]) -> None:
        self._main, self._summaries = list(main), list(summaries)
        self.requests: list[dict[str, Any]] = []

    def reply(self, request: Request) -> dict[str, Any]:
        body = request.body
        is_summary = "<conversation>" in _text(body["messages"][-1]) or "# Conversation" in _text(body["messages"][-1])
        replies = self._summaries if is_summary else self._main
        reply = replies.pop(0) if len(replies) > 1 else replies[0]
        self.requests.append(
            {
                "kind": "summary" if is_summary else "main",
                "roles": [message["role"] for message in body["messages"]],
                "tools": bool(body.get("tools")),
            }
        )
        if "status" in reply:
            return {"status": reply["status"], "json": {"error": {"message": reply["error"]}}}
        usage = {
            "prompt_tokens": reply["prompt_tokens"],
            "completion_tokens": reply["completion_tokens"],
            "total_tokens": reply["prompt_tokens"] + reply["completion_tokens"],
        }
        steps = [{"delta": {"role": "assistant", "content": reply["text"]}}, {"finish": reply["finish"]}]
        return {"stream": [*steps, {"usage": usage}, {"done": True}]}


def _text(message: dict[str, Any]) -> str:
    content = message.get("content") or ""
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def _entry(line: dict[str, Any], lines: list[dict[str, Any]]) -> dict[str, Any]:
    place = {entry.get("id"): index for index, entry in enumerate(lines)}
    entry: dict[str, Any] = {"type": line["type"]}
    message = line.get("message", {})
    for name in ("role", "stopReason"):
        if name in message:
            entry[name] = message[name]
    if line["type"] == "compaction":
        entry |= {"firstKept": place.get(line["firstKeptEntryId"]), "tokensBefore": line["tokensBefore"]}
        entry["fromHook"] = line.get("fromHook", False)
    if line["type"] == "context_edit":
        entry |= {"target": place[line["targetId"]], "omits": line["replacement"] is None}
    return entry


def _event(record: dict[str, Any]) -> dict[str, Any]:
    event: dict[str, Any] = {"type": record["type"]}
    message = record.get("message", {})
    for name in ("role", "stopReason"):
        if name in message:
            event[name] = message[name]
    if record["type"] == "compaction_start":
        event["reason"] = record["reason"]
    if record["type"] == "compaction_end":
        event |= {name: record[name] for name in ("reason", "aborted", "willRetry")}
        event |= {"hasResult": "result" in record, "hasError": "errorMessage" in record}
    if record["type"] == "entry_appended":
        event["entry"] = record["entry"]["type"]
    if record["type"] == "agent_end":
        event["willRetry"] = record["willRetry"]
    return event


def _as_listed(actual: Any, expected: Any) -> Any:
    """Drop keys that the vector does not state for an item."""
    if not isinstance(actual, list) or not isinstance(expected, list):
        return actual
    pairs = zip(actual, expected, strict=False)
    kept = [
        {key: mine[key] for key in mine if key in theirs} if isinstance(mine, dict) else mine for mine, theirs in pairs
    ]
    return [*kept, *actual[len(expected) :]]


def _without_system(expected: dict[str, Any]) -> dict[str, Any]:
    """Leave out what only the original has: system messages, and with them the numbers of lines."""
    result = dict(expected)
    entries = expected.get("entries", [])
    kept = [index for index, entry in enumerate(entries) if entry.get("role") != "system"]
    renumbered = {old: new for new, old in enumerate(kept)}
    result["entries"] = [_renumbered(entries[index], renumbered) for index in kept]
    result["events"] = list(_events_without_system(expected.get("events", [])))
    return result


def _renumbered(entry: dict[str, Any], numbers: dict[int, int]) -> dict[str, Any]:
    entry = {key: value for key, value in entry.items() if key != "hasSystemMessage"}
    for name in ("firstKept", "target"):
        if isinstance(entry.get(name), int):
            entry[name] = numbers.get(entry[name], entry[name])
    return entry


def _events_without_system(events: Iterable[dict[str, Any]]) -> Iterable[dict[str, Any]]:
    return (event for event in events if event.get("role") != "system")


OPS = {"e2e": _e2e}
