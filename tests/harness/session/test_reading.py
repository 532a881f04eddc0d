"""Old, sparse and odd entries are read with defaults; nothing costs more than it must."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from piolet.base.ids import parse_time
from piolet.base.json import encode, loads, to_plain
from piolet.harness.messages import (
    BashExecutionMessage,
    CustomMessage,
    OpaqueMessage,
    SystemMessage,
)
from piolet.harness.normalize import normalize_message
from piolet.harness.session.entries import (
    BranchSummaryEntry,
    CompactionEntry,
    ContextEditEntry,
    CustomMessageEntry,
    MessageEntry,
    ModelChangeEntry,
    OpaqueEntry,
    SessionInfoEntry,
    UsageEntry,
)
from piolet.harness.session.reading import read_entry
from piolet.harness.session.session import Session
from piolet.llm.messages import (
    AssistantMessage,
    ImageContent,
    OpaqueBlock,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from tests.harness.session.making import HEADER, entry, said, write

FILE_MS = 1_700_000_000_000


def read(value: dict[str, Any]) -> Any:
    return read_entry(encode(value), FILE_MS)


def message(**fields: Any) -> Any:
    return normalize_message(fields, FILE_MS)


def test_every_written_field_survives_reading_and_writing() -> None:
    usage = {
        "input": 1,
        "output": 2,
        "cacheRead": 3,
        "cacheWrite": 4,
        "totalTokens": 10,
        "cost": {"input": 0.5, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0.5, "totalFromProvider": True},
        "cacheWrite1h": 2,
        "reasoning": 1,
    }
    content = [
        {"type": "thinking", "thinking": "", "thinkingSignature": "c2ln", "redacted": True},
        {"type": "text", "text": "t", "textSignature": "s"},
        {"type": "toolCall", "id": "c", "name": "n", "arguments": {"a": [1, 0.5]}, "thoughtSignature": "x"},
    ]
    assistant = {
        "role": "assistant",
        "content": content,
        "api": "a",
        "provider": "p",
        "model": "m",
        "usage": usage,
        "stopReason": "toolUse",
        "timestamp": 1,
        "responseModel": "m-1",
        "responseId": "r",
        "thinkingLevel": "low",
        "providerThinkingLevel": "lo",
        "diagnostics": [{"type": "d", "timestamp": 1}],
        "rawStopReason": "tool_calls",
        "errorMessage": "e",
        "endTurn": False,
        "deferred": {"provider": "p", "modelId": "m", "api": "a", "id": "i"},
        "durationMs": 12,
    }
    result = {
        "role": "toolResult",
        "toolCallId": "c",
        "toolName": "n",
        "content": [{"type": "image", "data": "QUJD", "mimeType": "image/png"}],
        "isError": True,
        "timestamp": 2,
        "details": {"d": 1},
        "usage": usage,
        "nestedCalls": {"calls": [{"id": "1", "name": "read", "status": "ok"}], "complete": True},
        "durationMs": 3,
    }
    system = {"role": "system", "content": "x", "timestamp": 1, "sections": {"a": None}}
    for value in (
        entry("message", "a", None, message=assistant),
        entry("message", "b", "a", message=result),
        entry("compaction", "c", "b", summary="s", tokensBefore=5, firstKeptEntryId="b", details={}, fromHook=False)
        | {
            "usage": usage,
            "systemMessage": system,
        },
        entry("branch_summary", "d", "c", fromId="root", summary="s", usage=usage, fromHook=True),
        entry("usage", "e", "d", kind="cache_warm", provider="p", model="m", usage=usage, note="n"),
        entry("context_edit", "f", "e", targetId="a", replacement=None),
        entry("context_edit", "g", "f", targetId="a", replacement={"content": content}),
        entry("custom", "h", "g", customType="x", data=False),
        entry("custom_message", "i", "h", customType="x", content="t", display=False, details=[1]),
        entry("label", "j", "i", targetId="a", label=""),
        entry("session_info", "k", "j", name=""),
        entry("model_change", "l", "k", provider="p", modelId="m"),
        entry("thinking_level_change", "m", "l", thinkingLevel="unheard-of"),
        entry("of the future", "n", "m", anything={"at": "all"}),
    ):
        assert to_plain(read(value)) == value
        assert loads(encode(read(value))) == value


@pytest.mark.parametrize(
    ("name", "kind", "fields"),
    [
        ("modelChange", ModelChangeEntry, {"provider": "p", "modelId": "m"}),
        ("branchSummary", BranchSummaryEntry, {"summary": "s"}),
        ("customMessage", CustomMessageEntry, {"customType": "x", "content": "t"}),
        ("sessionInfo", SessionInfoEntry, {"name": "n"}),
        ("contextEdit", ContextEditEntry, {"targetId": "a", "replacement": None}),
    ],
)
def test_camel_case_type_names_are_read(name: str, kind: type[Any], fields: dict[str, Any]) -> None:
    assert isinstance(read(entry(name, "a", None, **fields)), kind)


def test_missing_fields_have_the_defaults_of_the_format() -> None:
    sparse = read({"type": "message", "id": "a", "parentId": None, "message": {"role": "assistant", "content": "hi"}})
    assert isinstance(sparse, MessageEntry)
    said = sparse.message
    assert isinstance(said, AssistantMessage)
    assert (said.api, said.provider, said.model, said.stop_reason) == ("", "", "", "stop")
    assert said.content == [TextContent("hi")]
    assert said.usage.total_tokens == 0
    assert said.timestamp == FILE_MS
    assert parse_time(sparse.timestamp) == FILE_MS


def test_the_time_of_the_entry_stands_in_for_that_of_its_message() -> None:
    value = entry("message", "a", None, message={"role": "user", "content": "x"})
    assert read(value).message.timestamp == parse_time(value["timestamp"])


def test_times_without_zone_are_local() -> None:
    local, utc = parse_time("2026-01-01T12:00:00"), parse_time("2026-01-01T12:00:00Z")
    assert local is not None
    assert utc is not None
    import time

    assert local - utc == time.timezone * 1000
    assert parse_time("yesterday") is None
    assert parse_time(5) is None


def test_null_and_missing_content_are_empty() -> None:
    assert message(role="user", content=None).content == []
    assert message(role="toolResult", toolCallId="c").content == []
    assert message(role="system", content=None).content == ""
    assert read(entry("custom_message", "a", None, customType="x")).content == []


def test_one_unknown_block_does_not_cost_the_message() -> None:
    video = {"type": "video", "url": "u"}
    said = message(role="user", content=[{"type": "text", "text": "t"}, video, 5], timestamp=1)
    assert said == UserMessage([TextContent("t"), OpaqueBlock(video)], 1)
    assert to_plain(said)["content"] == [{"type": "text", "text": "t"}, video]


def test_odd_blocks_are_repaired_or_kept_as_they_are() -> None:
    said = message(
        role="assistant",
        content=[
            {"type": "text", "text": None},
            {"type": "thinking", "thinking": None, "thinkingSignature": "s"},
            {"type": "toolCall", "id": "c", "name": "n", "arguments": "no object"},
            {"type": "toolCall", "arguments": {}},
            {"type": "image", "data": "QUJD"},
        ],
    )
    assert said.content[0] == TextContent("")
    assert said.content[1] == ThinkingContent("", "s")
    assert said.content[2] == ToolCall("c", "n", {})
    assert [type(block) for block in said.content[3:]] == [OpaqueBlock, OpaqueBlock]
    assert said.stop_reason == "toolUse"


def test_numbers_that_are_null_or_floats_are_read() -> None:
    usage = {"input": 10.0, "output": None, "totalTokens": 10.6, "cost": {"total": None, "input": 1}}
    said = message(role="assistant", content=[], usage=usage, timestamp=5.0)
    assert (said.usage.input, said.usage.output, said.usage.total_tokens, said.timestamp) == (10, 0, 10, 5)
    assert (said.usage.cost.total, said.usage.cost.input) == (0, 1)
    assert message(role="assistant", usage={"cost": None}).usage.cost.total == 0


def test_an_unknown_stop_reason_is_kept_beside_a_known_one() -> None:
    said = message(role="assistant", content=[], stopReason="moderated")
    assert (said.stop_reason, said.raw_stop_reason) == ("stop", "moderated")


def test_unknown_roles_and_hopeless_messages_stay_as_they_are() -> None:
    raw = {"role": "oracle", "content": "x", "timestamp": 7}
    said = message(**raw)
    assert said == OpaqueMessage(raw)
    assert (said.role, said.timestamp) == ("oracle", 7)
    assert read(entry("message", "a", None, message=raw)).message == OpaqueMessage(raw)
    assert isinstance(read(entry("message", "a", None, message=None)), OpaqueEntry)


def test_every_role_of_the_harness_is_read_tolerantly() -> None:
    assert message(role="bashExecution", command="ls") == BashExecutionMessage("ls", "", False, False, FILE_MS)
    assert message(role="custom", content="x") == CustomMessage("", "x", True, FILE_MS)
    assert message(role="system", sections={"a": "b"}) == SystemMessage("", FILE_MS, {"a": "b"})
    assert message(role="compactionSummary").tokens_before == 0
    assert message(role="branchSummary").from_id == "root"


def test_lone_surrogates_and_broken_utf8_are_read_and_written_again(tmp_path: Path) -> None:
    line = (
        b'{"type":"message","id":"a","parentId":null,"message":{"role":"user","content":"half \\ud83d","timestamp":1}}'
    )
    surrogate = read_entry(line, FILE_MS)
    assert isinstance(surrogate, MessageEntry)
    assert surrogate.message.content == "half \ud83d"  # type: ignore[union-attr]
    assert b"half \\ud83d" in encode(surrogate)
    broken = read_entry(line.replace(b"\\ud83d", b"\xff\xfe"), FILE_MS)
    assert broken.message.content == "half \ufffd\ufffd"  # type: ignore[union-attr]


def test_a_tool_result_without_name_gets_that_of_its_call(tmp_path: Path) -> None:
    call = {"role": "assistant", "content": [{"type": "toolCall", "id": "c1", "name": "grep", "arguments": {}}]}
    lines = [
        entry("message", "a", None, message=call),
        entry("message", "b", "a", message={"role": "toolResult", "toolCallId": "c1", "content": "x"}),
        entry("message", "c", "b", message={"role": "toolResult", "toolCallId": "c2", "content": "x"}),
    ]
    with Session.open(str(write(tmp_path / "s.jsonl", *lines))) as session:
        names = [m.tool_name for m in session.build_context().messages if isinstance(m, ToolResultMessage)]
    assert names == ["grep", ""]


def test_usage_of_other_work_is_read_with_zeros() -> None:
    found = read(entry("usage", "a", None, usage={"output": 3}))
    assert isinstance(found, UsageEntry)
    assert (found.usage.output, found.usage.input, found.kind) == (3, 0, "")


def test_a_compaction_without_kept_entry_is_read() -> None:
    found = read(entry("compaction", "a", None, summary="s", tokensBefore=1.0))
    assert isinstance(found, CompactionEntry)
    assert (found.first_kept_entry_id, found.tokens_before) == (None, 1)


def test_an_image_is_read() -> None:
    block = {"type": "image", "data": "QUJD", "mimeType": "image/png"}
    assert message(role="user", content=[block], timestamp=1.5).content == [ImageContent("QUJD", "image/png")]


def test_what_is_no_entry_is_set_aside_and_told(tmp_path: Path) -> None:
    path = write(
        tmp_path / "s.jsonl",
        said("u1", None),
        "",
        "{damaged",
        "42",
        '{"type":"note"}',
        said("u2", "u1"),
        '{"type":"custom","id":"","parentId":null}',
        "[" * 100_000,
        {**HEADER, "id": "again"},
        said("u3", "u2"),
    )
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    with Session.open(str(path)) as session:
        assert [head.id for head in session.path_heads()] == ["u1", "u2", "u3"]
        assert session.id == "s1"
        assert [(problem.kind, problem.line) for problem in session.problems] == [
            ("malformed", 4),
            ("not-an-entry", 5),
            ("no-id", 6),
            ("no-id", 8),
            ("malformed", 9),
        ]
