"""Both programs, asked the same in the same stored session, send the same request."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from piolet.llm.protocols.openai_completions import RESULTS_TAKEN_IN
from tests.support.peer import Peer
from tests.support.run import Finished, Place
from tests.support.server import Request, ScriptedServer

SESSION = "019a0000-0000-7000-8000-000000000000"
CHAT, CLAUDE = "openai-completions", "anthropic-messages"
RESPONSES, AZURE, GEMINI = "openai-responses", "azure-openai-responses", "google-generative-ai"
BEDROCK, MISTRAL = "bedrock-converse-stream", "mistral-conversations"
IMAGE = {"type": "image", "mimeType": "image/png", "data": "iVBORw0KGgo="}
ZERO = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}
RATES = {"input": 1, "output": 2, "cacheRead": 0.1, "cacheWrite": 0}
USAGE = {"input": 1, "output": 1, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 2, "cost": ZERO}


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


def call(call_id: str) -> dict[str, Any]:
    return {"type": "toolCall", "id": call_id, "name": "read", "arguments": {"path": "a"}}


def user(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks), "timestamp": 1}


def answer(api: str, model: str, *blocks: Any, stop: str = "stop") -> dict[str, Any]:
    fixed = {"role": "assistant", "api": api, "provider": "stub", "model": model, "usage": USAGE, "timestamp": 2}
    return {**fixed, "providerThinkingLevel": "low", "content": list(blocks), "stopReason": stop}


def found(call_id: str, *blocks: Any, failed: bool = False) -> dict[str, Any]:
    told = {"toolCallId": call_id, "toolName": "read", "content": list(blocks), "isError": failed, "timestamp": 3}
    return {"role": "toolResult", **told}


STORED = json.dumps({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "E"})
SIGNATURES = {CHAT: "reasoning_content", RESPONSES: STORED, AZURE: STORED, GEMINI: "QUJD", BEDROCK: "QUJD"}
MESSAGES = {RESPONSES: "input", AZURE: "input", GEMINI: "contents"}  # under which name they are sent
BASES = {CHAT: "/v1", RESPONSES: "/v1", AZURE: "/openai/v1", GEMINI: "/v1beta"}


def history(api: str, model: str) -> list[dict[str, Any]]:
    thought = {"type": "thinking", "thinking": "plan", "thinkingSignature": SIGNATURES.get(api, "SIG")}
    c1, c2, c3 = ("c00000001", "c00000002", "c00000003") if api == MISTRAL else ("c1", "c2", "c3")
    other = "call_x|fc_1"
    if api in (RESPONSES, AZURE):
        c1, other = "c1|fc_1", "call_x"
    return [
        user(text("q"), IMAGE),
        answer(api, model, thought, text("a1"), call(c1), call(c2), stop="toolUse"),
        found(c1, text("x"), text("y"), IMAGE),
        found(c2, text("bad"), failed=True),
        user(text("on")),
        answer("openai-responses", "other", thought, text("b"), call(other), stop="toolUse"),
        found(other, text("z")),
        answer(api, model, text("half"), stop="aborted"),
        user(text("again")),
        answer(api, model, call(c3), stop="toolUse"),
    ]


def write_session(place: Place, api: str, model: str) -> str:
    header = {"type": "session", "version": 3, "id": SESSION, "timestamp": "2026-01-01T00:00:00.000Z"}
    entries: list[dict[str, Any]] = [{**header, "cwd": str(place.cwd)}]
    for number, message in enumerate(history(api, model)):
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
    (CLAUDE, "medium", {"forceAdaptiveThinking": True, "supportsMidConvoEffort": True}, {}),
    (CLAUDE, "off", {"forceAdaptiveThinking": True, "supportsMidConvoEffort": True}, {}),
    (CLAUDE, "off", {"allowedFallbackModels": [{"provider": "stub", "model": "m0", "cost": RATES}]}, {}),
    (
        CLAUDE,
        "off",
        {"supportsEagerToolInputStreaming": False, "supportsCacheControlOnTools": False},
        {"input": ["text"]},
    ),
    (RESPONSES, "off", {}, {}),
    (RESPONSES, "high", {"supportsStrictMode": True, "sessionAffinityFormat": "openrouter"}, {}),
    (RESPONSES, "high", {"supportsMidConvoEffort": True}, {}),
    (RESPONSES, "low", {"supportsMaxOutputTokens": False, "promptCacheKeyMode": "disabled"}, {"input": ["text"]}),
    (AZURE, "medium", {}, {}),
    (GEMINI, "high", {}, {"id": "gemini-2.5-pro", "input": ["text"]}),
    (GEMINI, "off", {}, {"id": "gemini-2.5-flash-lite", "input": ["text"]}),
    (BEDROCK, "off", {}, {"id": "anthropic.claude-opus-4-6-v1"}),
    (BEDROCK, "medium", {}, {"id": "anthropic.claude-opus-4-6-v1", "input": ["text"]}),
    (BEDROCK, "medium", {}, {"id": "openai.gpt-oss-120b-1:0"}),
    (MISTRAL, "high", {}, {}),
    (MISTRAL, "off", {}, {"thinkingLevelMap": {"off": "none", "high": "high"}}),
]


@pytest.mark.parametrize(("api", "level", "compat", "fields"), CASES)
def test_both_send_the_same(
    peer: Peer, place: Place, api: str, level: str, compat: dict[str, Any], fields: dict[str, Any]
) -> None:
    model = {"id": "m1", "reasoning": True, "input": ["text", "image"], "contextWindow": 200_000, "maxTokens": 4096}
    model |= {"compat": compat, **fields}

    def asked(run: Callable[..., Finished]) -> Request:
        with ScriptedServer() as server:
            place.write_models(server.url, api=api, baseUrl=server.url + BASES.get(api, ""), models=[model])
            place.write_settings({})
            session = write_session(place, api, model["id"])
            env = {"AWS_BEARER_TOKEN_BEDROCK": "k", "AWS_BEDROCK_FORCE_HTTP1": "1"}
            name = f"stub/{model['id']}"
            done = run("-p", "--model", name, "--thinking", level, "--session", session, "go on", env=env)
            assert server.requests, done.stderr
            return server.requests[0]

    theirs, ours = asked(lambda *argv, **more: peer.run(place, *argv, **more)), asked(place.run)
    assert ours.path.partition("?")[0] == theirs.path.partition("?")[0]
    assert comparable(api, ours.body) == comparable(api, theirs.body)
    for header in HEADERS:
        assert ours.headers.get(header) == theirs.headers.get(header)


HEADERS = (
    "authorization",
    "x-api-key",
    "api-key",
    "x-goog-api-key",
    "anthropic-version",
    "anthropic-beta",
    "x-session-affinity",
    "x-affinity",
    "session_id",
    "session-id",
    "x-session-id",
    "x-client-request-id",
)


def comparable(api: str, body: dict[str, Any]) -> dict[str, Any]:
    """Return a request without what is each program's own: prompt, descriptions of tools, made-up ids, fillers."""
    name = MESSAGES.get(api, "messages")
    messages = [
        message
        for message in body[name]
        if message.get("role") not in ("system", "developer") or not message["content"]
    ]
    roles = [message["role"] for message in body[name] if message.get("role") in ("system", "developer")][:1]
    if api in (RESPONSES, AZURE):
        messages = [_without_own_id(item) for item in messages]
    if api == BEDROCK:
        messages = _in_turn(messages)
    if api == MISTRAL:
        # The peer lets a user speak right behind results, which the service refuses.
        messages = [_bare(message) for message in messages if message.get("content") != RESULTS_TAKEN_IN]
    tools = body["tools"] if "tools" in body else body["toolConfig"]["tools"]
    tools = tools[0]["functionDeclarations"] if api == GEMINI else tools
    names = [(tool.get("function") or tool.get("toolSpec") or tool)["name"] for tool in tools]
    own = ("system", "systemInstruction", "tools", "toolConfig", name)
    rest = {key: value for key, value in body.items() if key not in own}
    return {**rest, "messages": messages, "roles": roles, "tools": sorted(names)}


def _without_own_id(item: dict[str, Any]) -> dict[str, Any]:
    """An item whose id the server gave keeps it. The peer joins the texts of a result."""
    kept = item if item.get("id") in ("fc_1", "rs_1") else {key: value for key, value in item.items() if key != "id"}
    if isinstance(output := item.get("output"), list):
        texts = [part["text"] for part in output if part["type"] == "input_text"]
        kept["output"] = ["\n".join(texts), *(part for part in output if part["type"] != "input_text")]
    return {**kept, "has_id": "id" in item}


def _in_turn(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The peer sends two user messages in a row, which the service refuses."""
    merged: list[dict[str, Any]] = []
    for message in messages:
        if merged and merged[-1]["role"] == message["role"]:
            merged[-1]["content"] += message["content"]
        else:
            merged.append(message)
    return merged


def _bare(message: dict[str, Any]) -> dict[str, Any]:
    """The peer writes defaults out, and makes ids in its own way."""
    bare = {key: value for key, value in message.items() if key != "prefix" and value != ""}
    if calls := message.get("tool_calls"):
        bare["tool_calls"] = [{**call, "index": 0, "id": _known(call["id"])} for call in calls]
    if message["role"] == "tool":
        bare["tool_call_id"] = _known(message["tool_call_id"])
    return bare


def _known(call_id: str) -> str:
    return call_id if call_id.startswith("c0000000") else "made up"
