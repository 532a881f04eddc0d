"""Both programs, asked the same in the same stored session, send the same request."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.support import replies
from tests.support.peer import Peer
from tests.support.run import Finished, Place
from tests.support.server import Request, ScriptedServer

SESSION = "019a0000-0000-7000-8000-000000000000"
CHAT, CLAUDE = "openai-completions", "anthropic-messages"
IMAGE = {"type": "image", "mimeType": "image/png", "data": "iVBORw0KGgo="}
ZERO = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}
USAGE = {"input": 1, "output": 1, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 2, "cost": ZERO}


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


def call(call_id: str) -> dict[str, Any]:
    return {"type": "toolCall", "id": call_id, "name": "read", "arguments": {"path": "a"}}


def user(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks), "timestamp": 1}


def answer(api: str, *blocks: Any, stop: str = "stop", **more: Any) -> dict[str, Any]:
    fixed = {"role": "assistant", "api": api, "provider": "stub", "model": "m1", "usage": USAGE, "timestamp": 2}
    return {**fixed, "content": list(blocks), "stopReason": stop, **more}


def found(call_id: str, *blocks: Any, failed: bool = False) -> dict[str, Any]:
    told = {"toolCallId": call_id, "toolName": "read", "content": list(blocks), "isError": failed, "timestamp": 3}
    return {"role": "toolResult", **told}


def history(api: str) -> list[dict[str, Any]]:
    signature = "reasoning_content" if api == CHAT else "SIG"
    thought = {"type": "thinking", "thinking": "plan", "thinkingSignature": signature}
    return [
        user(text("q"), IMAGE),
        answer(api, thought, text("a1"), call("c1"), call("c2"), stop="toolUse"),
        found("c1", text("x"), text("y"), IMAGE),
        found("c2", text("bad"), failed=True),
        user(text("on")),
        answer("openai-responses", thought, text("b"), call("call_x|fc_1"), model="other", stop="toolUse"),
        found("call_x|fc_1", text("z")),
        answer(api, text("half"), stop="aborted"),
        user(text("again")),
        answer(api, call("c3"), stop="toolUse"),
    ]


def write_session(place: Place, api: str) -> str:
    header = {"type": "session", "version": 3, "id": SESSION, "timestamp": "2026-01-01T00:00:00.000Z"}
    entries: list[dict[str, Any]] = [{**header, "cwd": str(place.cwd)}]
    for number, message in enumerate(history(api)):
        parent = None if number == 0 else f"{number - 1:08x}"
        entry = {"type": "message", "id": f"{number:08x}", "parentId": parent, "message": message}
        entries.append({**entry, "timestamp": "2026-01-01T00:00:01.000Z"})
    path = place.cwd / "session.jsonl"
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    return str(path)


CASES: list[tuple[str, str, dict[str, Any], dict[str, Any]]] = [
    (CHAT, "off", {}, {}),
    (CHAT, "high", {}, {}),
    (CHAT, "low", {"thinkingFormat": "deepseek", "requiresReasoningContentOnAssistantMessages": True}, {}),
    (CHAT, "medium", {"thinkingFormat": "qwen", "thinkingTokenBudgetField": "thinking_budget"}, {}),
    (CHAT, "off", {"thinkingFormat": "openrouter", "cacheControlFormat": "anthropic"}, {"input": ["text"]}),
    (CHAT, "off", {"requiresToolResultName": True, "requiresNonNullAssistantContent": True}, {"reasoning": False}),
    (CHAT, "high", {"supportsDeveloperRole": True, "promptCacheKeyMode": "enabled"}, {}),
    (CLAUDE, "off", {"sendSessionAffinityHeaders": True}, {}),
    (CLAUDE, "high", {"forceAdaptiveThinking": True}, {}),
    (
        CLAUDE,
        "off",
        {"supportsEagerToolInputStreaming": False, "supportsCacheControlOnTools": False},
        {"input": ["text"]},
    ),
]


@pytest.mark.parametrize(("api", "level", "compat", "fields"), CASES)
def test_both_send_the_same(
    peer: Peer, place: Place, api: str, level: str, compat: dict[str, Any], fields: dict[str, Any]
) -> None:
    model = {"id": "m1", "reasoning": True, "input": ["text", "image"], "contextWindow": 200_000, "maxTokens": 4096}
    model |= {"compat": compat, **fields}

    def asked(run: Callable[..., Finished]) -> Request:
        with ScriptedServer([replies.openai("ok") if api == CHAT else replies.anthropic("ok")]) as server:
            base = server.url + ("/v1" if api == CHAT else "")
            place.write_models(server.url, api=api, baseUrl=base, models=[model])
            place.write_settings({})
            session = write_session(place, api)
            done = run("-p", "--model", "stub/m1", "--thinking", level, "--session", session, "go on")
            assert done.exit == 0, done.stderr
            return server.requests[0]

    theirs, ours = asked(lambda *argv: peer.run(place, *argv)), asked(place.run)
    assert ours.path == theirs.path.partition("?")[0]
    assert comparable(ours.body) == comparable(theirs.body)
    for name in (
        "authorization",
        "x-api-key",
        "anthropic-version",
        "anthropic-beta",
        "x-session-affinity",
        "session_id",
    ):
        assert ours.headers.get(name) == theirs.headers.get(name)


def comparable(body: dict[str, Any]) -> dict[str, Any]:
    """Return a request without the texts that are each program's own: the prompt and the tools' descriptions."""
    messages = [message for message in body["messages"] if message["role"] not in ("system", "developer")]
    roles = [message["role"] for message in body["messages"] if message["role"] in ("system", "developer")][:1]
    tools = [(tool.get("function") or tool)["name"] for tool in body["tools"]]
    rest = {key: value for key, value in body.items() if key not in ("system", "tools", "messages")}
    return {**rest, "messages": messages, "roles": roles, "tools": sorted(tools)}
