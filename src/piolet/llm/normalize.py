"""The second chance of a message that the strict decoder refuses: repaired field by field.

Null becomes empty, an integral float an int, an unknown block an `OpaqueBlock`, a missing field its default (session
format, section 2). One odd value must never cost a whole message.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, TypeVar, get_args

import msgspec

from piolet.llm.messages import (
    NO_COST,
    AssistantBlock,
    AssistantMessage,
    Cost,
    ImageContent,
    Message,
    OpaqueBlock,
    StopReason,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    Usage,
    UserBlock,
    UserMessage,
)

S = TypeVar("S", bound=msgspec.Struct)
_STOP_REASONS = get_args(StopReason)
_BLOCKS: dict[str, tuple[type[msgspec.Struct], dict[str, Any]]] = {
    "text": (TextContent, {"text": ""}),
    "thinking": (ThinkingContent, {"thinking": ""}),
    "image": (ImageContent, {}),
    "toolCall": (ToolCall, {"arguments": {}}),
}


def normalize_message(raw: Mapping[str, Any], timestamp: int) -> Message | None:
    """Return `raw` as the message of its role, None if the role is not one that models know.

    `timestamp` (Unix milliseconds) stands in for a missing one.
    """
    times = {"timestamp": timestamp}
    match raw.get("role"):
        case "user":
            return fit(UserMessage, raw, {"content": normalize_content(raw.get("content"))}, times)
        case "assistant":
            return _assistant(raw, times)
        case "toolResult":
            given = {"content": normalize_blocks(raw.get("content")), "usage": normalize_usage(raw.get("usage"))}
            return fit(ToolResultMessage, raw, given, times | {"tool_call_id": "", "tool_name": "", "is_error": False})
        case _:
            return None


def normalize_content(value: Any) -> str | Sequence[UserBlock]:
    """Return message content that may also be a string."""
    return value if isinstance(value, str) else normalize_blocks(value)


def normalize_blocks(value: Any) -> list[Any]:
    """Return a list of blocks: a string as one text block, anything that is no list as nothing."""
    if isinstance(value, str):
        return [TextContent(value)]
    if not isinstance(value, list):
        return []
    return [normalize_block(block) for block in value if isinstance(block, Mapping)]


def normalize_block(raw: Mapping[str, Any]) -> UserBlock | AssistantBlock:
    """Return `raw` as the block of its type, else as an `OpaqueBlock`."""
    known = _BLOCKS.get(str(raw.get("type")))
    if known is None:
        return OpaqueBlock(raw)
    block, defaults = known
    try:
        return fit(block, raw, {}, defaults)  # type: ignore[return-value]
    except ValueError:
        return OpaqueBlock(raw)


def normalize_usage(raw: Any) -> Usage | None:
    """Return `raw` as usage, with zero for every number that is missing or none; None if it is no object."""
    if not isinstance(raw, Mapping):
        return None
    cost = raw.get("cost")
    zero = dict.fromkeys(("input", "output", "cache_read", "cache_write", "total_tokens", "total"), 0)
    given = {"cost": fit(Cost, cost, {}, zero) if isinstance(cost, Mapping) else NO_COST}
    return fit(Usage, raw, given, zero)


def fit(cls: type[S], raw: Mapping[str, Any], given: Mapping[str, Any], defaults: Mapping[str, Any]) -> S:
    """Return a `cls` made of `given` as it is and, for its other fields, of what in `raw` is of the right type.

    A value that is missing, null or of a wrong type falls back to `defaults` and then to the default of `cls`;
    a field with neither raises ValueError.
    """
    values: dict[str, Any] = {}
    for field in _fields(cls):
        if field.name in given:
            values[field.name] = given[field.name]
        elif (value := _fitting(raw.get(field.encode_name), field.type)) is not None:
            values[field.name] = value
        elif field.name in defaults:
            values[field.name] = defaults[field.name]
        elif field.required:
            raise ValueError(f"{cls.__name__} without {field.encode_name}")
    return cls(**values)


@cache
def _fields(cls: type[msgspec.Struct]) -> tuple[msgspec.structs.FieldInfo, ...]:
    return msgspec.structs.fields(cls)


def _fitting(value: Any, wanted: Any) -> Any:
    try:
        return None if value is None else msgspec.convert(value, wanted)
    except msgspec.ValidationError:
        finite = isinstance(value, float) and abs(value) < 2**63
        return _fitting(int(value), wanted) if finite else None


def _assistant(raw: Mapping[str, Any], times: Mapping[str, Any]) -> AssistantMessage:
    content = normalize_blocks(raw.get("content"))
    stop: Any = raw.get("stopReason")
    given: dict[str, Any] = {"content": content, "usage": normalize_usage(raw.get("usage") or {})}
    if stop not in _STOP_REASONS:
        given["stop_reason"] = "toolUse" if any(isinstance(block, ToolCall) for block in content) else "stop"
        if isinstance(stop, str):
            given["raw_stop_reason"] = raw.get("rawStopReason") or stop
    return fit(AssistantMessage, raw, given, {**times, "api": "", "provider": "", "model": ""})
