"""What requests to GitHub Copilot say of themselves."""

from __future__ import annotations

from typing import Any

import pytest

from piolet.llm.messages import ImageContent, Message, TextContent, ToolCall, ToolResultMessage, UserMessage
from piolet.llm.model import Context, StreamOptions
from piolet.llm.protocols import protocol_for
from tests.llm.wire import answer, model_at

USER = UserMessage("q", 1)
TURN = [USER, answer(ToolCall("c", "t", {}), stop="toolUse"), ToolResultMessage("c", "t", [TextContent("r")], False, 2)]
IMAGE = UserMessage([TextContent("see"), ImageContent("AAAA", "image/png")], 1)


def headers(messages: list[Message], api: str = "openai-completions", **fields: Any) -> dict[str, str | None]:
    model = model_at("http://x", api, provider="github-copilot", **fields)
    return protocol_for(api).request(model, Context(messages), StreamOptions(api_key="k")).headers


@pytest.mark.parametrize(("messages", "initiator"), [([USER], "user"), (TURN, "agent"), ([*TURN, USER], "user")])
def test_who_asked(messages: list[Message], initiator: str) -> None:
    sent = headers(messages)
    assert (sent["x-initiator"], sent["openai-intent"]) == (initiator, "conversation-edits")


def test_whether_there_is_something_to_see() -> None:
    assert headers([IMAGE])["copilot-vision-request"] == "true"
    assert "copilot-vision-request" not in headers([USER])
    assert "copilot-vision-request" not in headers([IMAGE], input=["text"])


def test_claude_there_takes_a_bearer() -> None:
    sent = headers([USER], "anthropic-messages")
    assert sent["authorization"] == "Bearer k"
    assert "x-api-key" not in sent


def test_nobody_else_is_told() -> None:
    sent = protocol_for("openai-completions").request(model_at("http://x"), Context([USER]), StreamOptions()).headers
    assert sent == {}
