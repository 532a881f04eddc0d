from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

TOOLS = [
    {
        "type": "function",
        "function": {"name": name, "parameters": {"type": "object", "properties": {key: {"type": "string"}}}},
    }
    for name, key in (("read", "path"), ("bash", "command"))
]


def ask(llama: str, text: str, **more: Any) -> tuple[dict[str, Any], str]:
    body = {"messages": [{"role": "user", "content": text}], "tools": TOOLS, "max_tokens": 200} | more
    choice = httpx.post(llama + "/v1/chat/completions", json=body, timeout=30).raise_for_status().json()["choices"][0]
    return choice["message"], choice["finish_reason"]


def calls(message: dict[str, Any]) -> list[tuple[str, Any]]:
    return [(call["function"]["name"], json.loads(call["function"]["arguments"])) for call in message["tool_calls"]]


def test_it_recites_the_line_of_the_word_in_the_last_message(llama: str) -> None:
    message, reason = ask(llama, "hello")
    assert (message["content"], reason) == ("Good day, I recite one line.", "stop")
    message, reason = ask(llama, "think about it")
    assert message["reasoning_content"].strip() == "There is little to weigh."
    assert (message["content"], reason) == ("So be it.", "stop")
    assert ask(llama, "forever", max_tokens=6)[1] == "length"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("read it", [("read", {"path": "notes.txt"})]),
        ("run it", [("bash", {"command": "ls"})]),
        ("do both", [("read", {"path": "notes.txt"}), ("bash", {"command": "ls"})]),
    ],
)
def test_it_calls_the_tools_that_it_is_offered(llama: str, text: str, expected: list[tuple[str, Any]]) -> None:
    message, reason = ask(llama, text)
    assert (calls(message), reason) == (expected, "tool_calls")
    assert ask(llama, text, tools=[])[0]["content"] == "Good day, I recite one line."


def test_a_tool_result_ends_the_conversation(llama: str) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}
    messages = [
        {"role": "user", "content": "run it"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "notes.txt"},
    ]
    assert ask(llama, "", messages=messages)[0]["content"] == "Thank you for the result."


def test_a_required_call_is_made(llama: str) -> None:
    message, reason = ask(llama, "hello", tool_choice="required", temperature=0)
    assert (calls(message)[0][0], reason) == ("read", "tool_calls")
