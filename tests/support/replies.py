"""Replies for a `ScriptedServer` from content blocks, in the words of OpenAI's and Anthropic's streams."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.support.server import Reply


@dataclass(frozen=True)
class Thinking:
    text: str
    signature: str = "c2lnbmF0dXJl"


@dataclass(frozen=True)
class Call:
    name: str
    arguments: dict[str, Any] = field(default_factory=dict)
    id: str = "call_1"


Block = str | Thinking | Call

OPENAI_USAGE = {"prompt_tokens": 1200, "completion_tokens": 5, "total_tokens": 1205}
ANTHROPIC_USAGE = {
    "input_tokens": 1200,
    "output_tokens": 5,
    "cache_read_input_tokens": 0,
    "cache_creation_input_tokens": 0,
}


def openai(*blocks: Block, finish: str | None = None, usage: dict[str, Any] = OPENAI_USAGE) -> Reply:
    """Return a chat completions stream; `finish` is by default "tool_calls" with calls, else "stop"."""
    steps: list[dict[str, Any]] = [{"delta": {"role": "assistant", "content": ""}}]
    calls = 0
    for block in blocks:
        match block:
            case str():
                steps += ({"delta": {"content": piece}} for piece in _pieces(block))
            case Thinking():
                steps += ({"delta": {"reasoning_content": piece}} for piece in _pieces(block.text))
            case Call():
                head = {"id": block.id, "type": "function", "function": {"name": block.name, "arguments": ""}}
                steps.append({"delta": {"tool_calls": [{"index": calls} | head]}})
                for piece in _pieces(json.dumps(block.arguments)):
                    steps.append({"delta": {"tool_calls": [{"index": calls, "function": {"arguments": piece}}]}})
                calls += 1
    steps += ({"finish": finish or ("tool_calls" if calls else "stop")}, {"usage": usage}, {"done": True})
    return {"stream": steps}


def anthropic(
    *blocks: Block,
    stop_reason: str | None = None,
    model: str = "claude-stub",
    usage: dict[str, Any] = ANTHROPIC_USAGE,
) -> Reply:
    """Return a messages stream; `stop_reason` is by default "tool_use" with calls, else "end_turn"."""
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": model, "content": []}
    message |= {"stop_reason": None, "stop_sequence": None, "usage": usage | {"output_tokens": 1}}
    events: list[dict[str, Any]] = [{"type": "message_start", "message": message}, {"type": "ping"}]
    for index, block in enumerate(blocks):
        start, deltas = _anthropic_block(block)
        events.append({"type": "content_block_start", "index": index, "content_block": start})
        events += ({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas)
        events.append({"type": "content_block_stop", "index": index})
    reason = stop_reason or ("tool_use" if any(isinstance(block, Call) for block in blocks) else "end_turn")
    end = {"delta": {"stop_reason": reason, "stop_sequence": None}, "usage": {"output_tokens": usage["output_tokens"]}}
    events += ({"type": "message_delta"} | end, {"type": "message_stop"})
    return {"stream": [{"raw": f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"} for event in events]}


def _anthropic_block(block: Block) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    match block:
        case str():
            return {"type": "text", "text": ""}, [{"type": "text_delta", "text": piece} for piece in _pieces(block)]
        case Thinking():
            deltas = [{"type": "thinking_delta", "thinking": piece} for piece in _pieces(block.text)]
            signature = {"type": "signature_delta", "signature": block.signature}
            return {"type": "thinking", "thinking": "", "signature": ""}, [*deltas, signature]
        case Call():
            start = {"type": "tool_use", "id": block.id, "name": block.name, "input": {}}
            pieces = ["", *_pieces(json.dumps(block.arguments))]
            return start, [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]


def _pieces(text: str, size: int = 8) -> Iterator[str]:
    """Cut `text` as a model would stream it."""
    return (text[start : start + size] for start in range(0, len(text), size))
