"""What tests of the wire need: a model at an address, a context, streams in bytes."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Sequence
from typing import Any

from piolet.llm.builder import MessageBuilder
from piolet.llm.errors import ProviderError
from piolet.llm.events import AssistantEvent, DoneEvent, ErrorEvent
from piolet.llm.messages import NO_USAGE, AssistantBlock, AssistantMessage, StopReason, UserMessage
from piolet.llm.model import Context, Model, ModelCost


def model_at(url: str, api: str = "openai-completions", **fields: Any) -> Model:
    """Return a model of a custom provider at `url`."""
    given: dict[str, Any] = {
        "id": "m1",
        "name": "m1",
        "api": api,
        "provider": "stub",
        "base_url": url,
        "reasoning": False,
        "input": ["text", "image"],
        "cost": ModelCost(1, 2, 0.1, 0),
        "context_window": 128_000,
        "max_tokens": 8192,
    }
    return Model(**{**given, **fields})


def ask(text: str = "hi", **fields: Any) -> Context:
    """Return a context that asks one thing."""
    return Context([UserMessage(text, 1)], **{"system_prompt": "Be brief.", **fields})


def sse(*records: Any) -> bytes:
    """Return records as server-sent events; the ``type`` of a record is also the name of its event."""
    parts = []
    for record in records:
        name = f"event: {record['type']}\n" if isinstance(record, dict) and "type" in record else ""
        parts.append(f"{name}data: {record if isinstance(record, str) else json.dumps(record)}\n\n")
    return "".join(parts).encode()


def aws(*events: tuple[str, Any], kind: str = "event") -> bytes:
    """Return events, each a type and its payload, in the frames of Amazon's event streams."""
    return b"".join(
        aws_frame({":message-type": kind, f":{kind}-type": name}, json.dumps(payload).encode())
        for name, payload in events
    )


def aws_frame(headers: dict[str, str], payload: bytes) -> bytes:
    """Return one frame."""
    told = b"".join(
        struct.pack(">B", len(name)) + name.encode() + struct.pack(">BH", 7, len(value)) + value.encode()
        for name, value in headers.items()
    )
    prelude = struct.pack(">II", len(told) + len(payload) + 16, len(told))
    frame = prelude + struct.pack(">I", zlib.crc32(prelude)) + told + payload
    return frame + struct.pack(">I", zlib.crc32(frame))


def chunk(delta: dict[str, Any] | None = None, finish: str | None = None, **more: Any) -> dict[str, Any]:
    """Return one chunk of a chat completion."""
    choice = {"index": 0, "delta": delta or {}, "finish_reason": finish}
    return {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m1", "choices": [choice], **more}


def answer(*blocks: AssistantBlock, stop: StopReason = "stop", **fields: Any) -> AssistantMessage:
    """Return an answer of the model of `model_at`, unless `fields` name another."""
    given: dict[str, Any] = {"api": "openai-completions", "provider": "stub", "model": "m1", "usage": NO_USAGE}
    return AssistantMessage(content=list(blocks), stop_reason=stop, timestamp=1, **{**given, **fields})


def fold(builder: MessageBuilder, *records: Any) -> list[AssistantEvent]:
    """Return the events that a builder makes of `records`, as the transport would pass them on."""
    events: list[AssistantEvent] = []
    try:
        for record in records:
            name = record.get("type", "") if isinstance(record, dict) else ""
            events += builder.fold(name, record)
        events += builder.finish()
    except ProviderError as error:
        return [*events, *builder.close_all(), builder.failed("error", str(error))]
    return [*events, builder.done()]


def result(events: Sequence[AssistantEvent]) -> AssistantMessage:
    """Return the final message of a stream of events."""
    last = events[-1]
    assert isinstance(last, DoneEvent | ErrorEvent)
    return last.message if isinstance(last, DoneEvent) else last.error
