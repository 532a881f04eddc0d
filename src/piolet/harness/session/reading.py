"""From one line of a session file to its entry: strictly first, then tolerantly (session format, section 2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, TypeAlias

import msgspec

from piolet.base.ids import iso_time, parse_time
from piolet.base.json import loads
from piolet.harness.messages import SystemMessage
from piolet.harness.normalize import normalize_message
from piolet.harness.session.entries import (
    BranchSummaryEntry,
    CompactionEntry,
    ContextEditEntry,
    CustomEntry,
    CustomMessageEntry,
    Entry,
    Header,
    KnownEntry,
    LabelEntry,
    MessageEntry,
    ModelChangeEntry,
    OpaqueEntry,
    Replacement,
    SessionInfoEntry,
    ThinkingLevelChangeEntry,
    UsageEntry,
)
from piolet.harness.session.storage import Text
from piolet.llm.messages import NO_USAGE
from piolet.llm.normalize import fit, normalize_blocks, normalize_content, normalize_usage

_Maker: TypeAlias = Callable[[Mapping[str, Any], Mapping[str, Any], int], Entry]
#: Names of entry types that are accepted when read and never written.
OTHER_NAMES = {
    "modelChange": "model_change",
    "thinkingLevelChange": "thinking_level_change",
    "branchSummary": "branch_summary",
    "customMessage": "custom_message",
    "sessionInfo": "session_info",
    "contextEdit": "context_edit",
}


@cache
def _decoder() -> msgspec.json.Decoder[KnownEntry]:
    return msgspec.json.Decoder(KnownEntry)


def read_entry(line: Text, file_ms: int) -> Entry:
    """Return the entry of a line that holds a JSON object with an id.

    `file_ms` is the time of the file: it stands in for the time of an entry that has none.
    """
    try:
        return _decoder().decode(line)
    except (msgspec.DecodeError, RecursionError):
        return normalize_entry(loads(bytes(line)), file_ms)


def is_known_type(raw: Mapping[str, Any]) -> bool:
    """Whether an entry is of a type that this program knows."""
    kind = str(raw.get("type"))
    return OTHER_NAMES.get(kind, kind) in _MAKERS


def read_header(value: Any) -> Header | None:
    """Return the first parsed value of a file as its header, None if it is none (session format, sections 2 and 3)."""
    if not isinstance(value, Mapping) or value.get("type") != "session" or not isinstance(value.get("id"), str):
        return None
    version = value.get("version", 1)
    given = {"version": int(version) if isinstance(version, int | float) and abs(version) < 2**31 else 1}
    return fit(Header, value, given, {})


def normalize_entry(raw: Mapping[str, Any], file_ms: int) -> Entry:
    """Return `raw` as the entry of its type, repaired where needed, else as an `OpaqueEntry`."""
    ms = parse_time(raw.get("timestamp"))
    timestamp = raw["timestamp"] if ms is not None else iso_time(file_ms)
    common = {"parent_id": None, "timestamp": timestamp}
    kind = str(raw.get("type"))
    make = _MAKERS.get(OTHER_NAMES.get(kind, kind))
    try:
        if make is not None:
            return make(raw, common, file_ms if ms is None else ms)
    except ValueError:
        pass
    return OpaqueEntry(raw, timestamp)


def _message(raw: Mapping[str, Any], common: Mapping[str, Any], ms: int) -> Entry:
    message = raw.get("message")
    if not isinstance(message, Mapping):
        raise ValueError("no message")
    return fit(MessageEntry, raw, {"message": normalize_message(message, ms)}, common)


def _compaction(raw: Mapping[str, Any], common: Mapping[str, Any], ms: int) -> Entry:
    system = raw.get("systemMessage")
    message = normalize_message(system, ms) if isinstance(system, Mapping) else None
    given = {
        "usage": normalize_usage(raw.get("usage")),
        "system_message": message if isinstance(message, SystemMessage) else None,
    }
    return fit(CompactionEntry, raw, given, {**common, "summary": "", "tokens_before": 0})


def _branch_summary(raw: Mapping[str, Any], common: Mapping[str, Any], ms: int) -> Entry:
    given = {"usage": normalize_usage(raw.get("usage"))}
    return fit(BranchSummaryEntry, raw, given, {**common, "summary": "", "from_id": "root"})


def _custom_message(raw: Mapping[str, Any], common: Mapping[str, Any], ms: int) -> Entry:
    given = {"content": normalize_content(raw.get("content"))}
    return fit(CustomMessageEntry, raw, given, {**common, "custom_type": "", "display": True})


def _usage(raw: Mapping[str, Any], common: Mapping[str, Any], ms: int) -> Entry:
    given = {"usage": normalize_usage(raw.get("usage")) or NO_USAGE}
    return fit(UsageEntry, raw, given, {**common, "kind": "", "provider": "", "model": ""})


def _context_edit(raw: Mapping[str, Any], common: Mapping[str, Any], ms: int) -> Entry:
    if raw.get("replacement", ...) is None:
        return fit(ContextEditEntry, raw, {"replacement": None}, common)
    replacement = raw.get("replacement")
    content = replacement.get("content") if isinstance(replacement, Mapping) else None
    if not isinstance(content, str | list):
        raise ValueError("no content")
    given = {"replacement": Replacement(content if isinstance(content, str) else normalize_blocks(content))}
    return fit(ContextEditEntry, raw, given, common)


def _plain(cls: type[KnownEntry], **defaults: Any) -> _Maker:
    return lambda raw, common, ms: fit(cls, raw, {}, {**common, **defaults})


_MAKERS: dict[str, _Maker] = {
    "message": _message,
    "compaction": _compaction,
    "branch_summary": _branch_summary,
    "custom_message": _custom_message,
    "usage": _usage,
    "context_edit": _context_edit,
    "custom": _plain(CustomEntry, custom_type=""),
    "model_change": _plain(ModelChangeEntry),
    "thinking_level_change": _plain(ThinkingLevelChangeEntry),
    "label": _plain(LabelEntry),
    "session_info": _plain(SessionInfoEntry),
}
