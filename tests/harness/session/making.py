"""Sessions and their parts for tests."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from piolet.harness.session.session import Session
from piolet.harness.session.stores import SessionStore
from piolet.llm.messages import (
    NO_USAGE,
    AssistantMessage,
    StopReason,
    TextContent,
    ToolCall,
    ToolResultMessage,
    Usage,
    UserMessage,
)

HEADER = {"type": "session", "version": 3, "id": "s1", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/home/dev/proj"}


def user(text: str = "hi", time: int = 1_767_225_600_000) -> UserMessage:
    return UserMessage([TextContent(text)], time)


def answer(
    text: str = "yes",
    *,
    calls: Iterable[ToolCall] = (),
    stop: StopReason = "stop",
    usage: Usage = NO_USAGE,
    model: str = "m1",
) -> AssistantMessage:
    blocks = [*([TextContent(text)] if text else []), *calls]
    return AssistantMessage(blocks, "openai-completions", "stub", model, usage, stop, 1_767_225_600_001)


def result(call_id: str, text: str = "done") -> ToolResultMessage:
    return ToolResultMessage(call_id, "read", [TextContent(text)], False, 1_767_225_600_002)


def entry(kind: str, id: str, parent: str | None, /, **fields: Any) -> dict[str, Any]:
    """Return an entry as it is in a file."""
    return {"type": kind, "id": id, "parentId": parent, "timestamp": "2026-01-01T00:00:01.000Z", **fields}


def said(id: str, parent: str | None, text: str | None = None, role: str = "user") -> dict[str, Any]:
    """Return a message entry as it is in a file; the text is its id unless given."""
    content: dict[str, Any] = {"role": role, "content": [{"type": "text", "text": text or id}], "timestamp": 1}
    if role == "assistant":
        usage = {"input": 1, "output": 1, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 2}
        cost = dict.fromkeys(("input", "output", "cacheRead", "cacheWrite", "total"), 0)
        content |= {"api": "a", "provider": "p", "model": "m", "usage": usage | {"cost": cost}, "stopReason": "stop"}
    return entry("message", id, parent, message=content)


def write(path: Path, *lines: dict[str, Any] | str | bytes, header: dict[str, Any] | None = HEADER) -> Path:
    """Write a session file; texts and bytes are lines as they are."""
    parts = [] if header is None else [json.dumps(header).encode()]
    for line in lines:
        parts.append(
            json.dumps(line).encode() if isinstance(line, dict) else line.encode() if isinstance(line, str) else line
        )
    path.write_bytes(b"".join(part + b"\n" for part in parts))
    return path


def texts(messages: Iterable[Any]) -> list[str]:
    """Return the text of each message."""
    shown = []
    for message in messages:
        content = getattr(message, "summary", None) or getattr(message, "content", "")
        if not isinstance(content, str):
            content = "".join(block.text for block in content if isinstance(block, TextContent))
        shown.append(content)
    return shown


def begun(store: SessionStore, *texts: str) -> Session:
    """Return a new session of `store`, with a question, an answer and further questions."""
    session = store.create("/home/dev/proj")
    session.append_message(user("hi"))
    session.append_message(answer("yes"))
    for text in texts:
        session.append_message(user(text))
    return session


def shown(session: Session) -> list[str]:
    """Return the texts that the model sees of a session."""
    return texts(session.build_context().messages)
