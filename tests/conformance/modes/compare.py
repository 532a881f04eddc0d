"""Normalises recordings and our own output alike, and compares them (the README beside the recordings)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from piolet.harness.messages import COMPACTION_INTRO
from tests.conformance.modes.scenario import Played

ID_KEYS = {"id", "parentId", "entryId", "leafId", "firstKeptEntryId", "since", "fromId", "targetId"}
SYSTEMATIC = {"durationMs", "structuredContent", "thinkingLevel", "providerThinkingLevel", "totalFromProvider"}
FREE = {"<any>", "<usage>", "<default-system-prompt>", "<summarization-system-prompt>"}
#: Sentences of which the specification quotes the beginning only.
QUOTED_BEGINNINGS = ("This session has not been saved yet.",)
#: Lines of standard error that the specification quotes.
QUOTED = (
    "Error: File not found",
    "Error: Unknown option",
    "Error: --fork",
    "Error: Model ",
    "Error: @file",
    "4",
    "Response",
)

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|<uuid:\d+>")
_ISO = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
_FILE_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z")
_ENTRY = re.compile(r"[0-9a-f]{8}|<entry:\d+>")


def check_stdout(played: Played, expected: Mapping[str, Any]) -> None:
    if expected["stdout"] and isinstance(expected["stdout"][0], str):
        assert [str(line) for line in played.stdout] == expected["stdout"], f"stdout {played.stdout}"
        return
    ours, theirs = _Normal(played), _Normal(played)
    for record in played.stdout:
        if record.get("command") in ("prompt", "steer", "follow_up") and record.get("success"):
            assert record.get("data", {}).get("disposition") in ("started", "queued", "handled"), (
                f"no disposition: {record}"
            )
    actual, recorded = ours.records(played.stdout), theirs.records(expected["stdout"])
    for kind in (False, True):
        one = [record for record in actual if (record.get("type") == "response") is kind]
        two = [record for record in recorded if (record.get("type") == "response") is kind]
        for index, (mine, wanted) in enumerate(zip(one, two, strict=False)):
            same(mine, wanted, f"{'response' if kind else 'event'} {index} ({wanted.get('type')})")
        names = [record.get("type") if not kind else record.get("command") for record in one]
        assert len(one) == len(two), f"{len(one)} records, expected {len(two)}: {names}"


def check_stderr(played: Played, expected: Mapping[str, Any]) -> None:
    wanted = expected.get("stderr_contains", [])
    assert not wanted or played.stderr.strip(), "standard error is empty"
    assert "Traceback" not in played.stderr, played.stderr[-600:]
    for line in wanted:
        line = line.replace("<cwd>", str(played.place.cwd))
        assert not line.startswith(QUOTED) or line in played.stderr, f"stderr lacks {line!r}: {played.stderr!r}"


def check_requests(played: Played, expected: Mapping[str, Any]) -> None:
    normal = _Normal(played)
    actual = [normal.request(request.path, request.headers, request.body) for request in played.requests]
    for index, (mine, wanted) in enumerate(zip(actual, expected["requests"], strict=False)):
        body = dict(wanted["body"])
        messages = body["messages"]
        body["messages"] = messages[:1] + [m for m in messages[1:] if m["role"] not in ("system", "developer")]
        same(mine, {**wanted, "body": body}, f"request {index}")
    assert len(actual) == len(expected["requests"]), f"{len(actual)} requests, expected {len(expected['requests'])}"


def check_session_files(played: Played, expected: Mapping[str, Any]) -> None:
    if not expected.get("session_files"):
        return
    ours, theirs = _Normal(played), _Normal(played)
    actual = {ours.value(path, ""): ours.records(lines) for path, lines in played.session_files.items()}
    recorded = {theirs.value(path, ""): theirs.records(lines) for path, lines in expected["session_files"].items()}
    same(actual, recorded, "session files")


def same(actual: Any, expected: Any, where: str) -> None:
    """Raise at the first difference."""
    if isinstance(expected, str) and (expected in FREE or "<any>" in expected):
        pattern = re.escape(expected).replace(re.escape("<any>"), ".*")
        assert expected in FREE or re.fullmatch(pattern, str(actual), re.DOTALL), (
            f"{where}: {actual!r}, expected {expected!r}"
        )
        return
    if isinstance(expected, str) and expected.startswith(QUOTED_BEGINNINGS):
        assert str(actual).startswith(QUOTED_BEGINNINGS), f"{where}: {actual!r}, expected {expected!r}"
        return
    if isinstance(expected, str) and "<summarization-instructions" in expected:
        assert str(actual).startswith(expected.split("<summarization-instructions")[0]), f"{where}: {actual!r}"
        return
    if isinstance(expected, dict) and isinstance(actual, dict):
        for key in expected.keys() | actual.keys():
            assert key in actual, f"{where}.{key} is missing, expected {expected[key]!r}"
            assert key in expected, f"{where}.{key} is not expected: {actual[key]!r}"
            same(actual[key], expected[key], f"{where}.{key}")
    elif isinstance(expected, list) and isinstance(actual, list):
        for index, (one, two) in enumerate(zip(actual, expected, strict=False)):
            same(one, two, f"{where}[{index}]")
        assert len(actual) == len(expected), f"{where}: {len(actual)} items, expected {len(expected)}"
    elif isinstance(expected, float | int) and isinstance(actual, float | int) and not isinstance(expected, bool):
        assert abs(actual - expected) <= 1e-9 * max(1, abs(expected)), f"{where}: {actual!r}, expected {expected!r}"
    else:
        assert actual == expected, f"{where}: {actual!r}, expected {expected!r}"


class _Normal:
    """One normalisation: drops what differs by design, then numbers ids by first appearance."""

    def __init__(self, played: Played) -> None:
        place = played.place
        dashed = f"--{str(place.cwd).removeprefix('/').replace('/', '-')}--"
        self._replaced = {
            dashed: "<cwd-dir>",
            str(place.cwd): "<cwd>",
            str(place.home): "<home>",
            played.server_url.removeprefix("http://"): "<server>",
        }
        self._uuids: dict[str, str] = {}
        self._entries: dict[str, str] = {}

    def records(self, records: list[Any]) -> list[Any]:
        kept = list(_without_system(records))
        return [self.value(_tidied(record), "") for record in kept]

    def request(self, path: str, headers: Mapping[str, str], body: Any) -> dict[str, Any]:
        body = dict(body)
        if "tools" in body:
            body["tools"] = [tool["function"]["name"] for tool in body["tools"]]
        body["messages"] = [_summary_shortened(message) for message in body["messages"]]
        return {"path": path, "authorization": headers.get("authorization"), "body": self.value(body, "")}

    def value(self, value: Any, key: str) -> Any:
        if isinstance(value, dict):
            return {k: self.value(value[k], k) for k in sorted(value)}
        if isinstance(value, list):
            return [self.value(item, "") for item in value]
        if isinstance(value, str):
            return self._text(value, key)
        if key == "timestamp" and isinstance(value, int | float):
            return "<ms>"
        return value

    def _text(self, text: str, key: str) -> str:
        if key in ID_KEYS and _ENTRY.fullmatch(text):
            return self._entries.setdefault(text, f"<entry:{len(self._entries) + 1}>")
        for value, name in self._replaced.items():
            text = text.replace(value, name)
        text = _FILE_TIME.sub("<ts-file>", _ISO.sub("<iso>", text))
        return _UUID.sub(lambda m: self._uuids.setdefault(m[0], f"<uuid:{len(self._uuids) + 1}>"), text)


def _without_system(records: list[Any]) -> Iterator[Any]:
    dropped: dict[str, Any] = {}
    for record in records:
        message = record.get("message")
        if isinstance(message, dict) and message.get("role") == "system":
            if record.get("type") == "message":
                dropped[record["id"]] = record.get("parentId")
            continue
        if record.get("type") == "context_edit":
            dropped[record["id"]] = record.get("parentId")
            continue
        entry = record.get("entry")
        if record.get("type") == "entry_appended" and isinstance(entry, dict) and entry.get("type") == "context_edit":
            continue
        if record.get("parentId") in dropped:
            record = {**record, "parentId": dropped[record["parentId"]]}
        yield record


def _tidied(value: Any) -> Any:
    """Drop the systematic differences and what is free to differ."""
    if isinstance(value, list):
        return [
            _tidied(item)
            for item in value
            if not (isinstance(item, dict) and (item.get("role") == "system" or _is_system_entry(item)))
        ]
    if not isinstance(value, dict):
        return value
    dropped = SYSTEMATIC - ({"thinkingLevel"} if "role" not in value else set())
    result = {key: _tidied(item) for key, item in value.items() if key not in dropped and key != "systemMessage"}
    match value.get("type"):
        case "agent_settled":
            result.pop("aborted", None)
        case "message_update":
            result["usage"] = "<usage>"
        case "toolcall_start":
            result.pop("id", None)
            result.pop("toolName", None)
        case "response" if isinstance(result.get("data"), dict) and "disposition" in result["data"]:
            del result["data"]["disposition"]
            if not result["data"]:
                del result["data"]
        case _:
            pass
    if value.get("role") == "assistant" and value.get("stopReason") == "pending":
        result["usage"], result["content"] = "<usage>", "<any>"
        result.pop("responseId", None)
        result.pop("rawStopReason", None)
    if "estimatedTokensAfter" in value:
        result["estimatedTokensAfter"] = "<any>"
    return result


def _is_system_entry(item: Mapping[str, Any]) -> bool:
    message = item.get("message")
    return item.get("type") == "message" and isinstance(message, dict) and message.get("role") == "system"


def _summary_shortened(message: dict[str, Any]) -> dict[str, Any]:
    """Write a compaction summary as the recordings do: without the intro, which is free."""
    content = message.get("content")
    if not isinstance(content, list) or not content or not str(content[0].get("text", "")).startswith(COMPACTION_INTRO):
        return message
    text = content[0]["text"].split("<summary>\n", 1)[1].removesuffix("\n</summary>")
    return {**message, "content": [{**content[0], "text": f"<compaction-summary>{text}"}]}
