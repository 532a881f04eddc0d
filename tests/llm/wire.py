"""What tests of the wire need: a model at an address, a context, streams in bytes."""

from __future__ import annotations

import json
from typing import Any

from piolet.llm.messages import UserMessage
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


def chunk(delta: dict[str, Any] | None = None, finish: str | None = None, **more: Any) -> dict[str, Any]:
    """Return one chunk of a chat completion."""
    choice = {"index": 0, "delta": delta or {}, "finish_reason": finish}
    return {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m1", "choices": [choice], **more}
