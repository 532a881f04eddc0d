"""What requests to GitHub Copilot say of themselves. Source: providers, section 11."""

from __future__ import annotations

from collections.abc import Sequence

from piolet.llm.messages import ImageContent, Message, UserMessage


def copilot_headers(messages: Sequence[Message]) -> dict[str, str | None]:
    """Return the headers that tell who asked, the user or the agent on its own, and of images."""
    by_user = not messages or isinstance(messages[-1], UserMessage)
    headers: dict[str, str | None] = {
        "x-initiator": "user" if by_user else "agent",
        "openai-intent": "conversation-edits",
    }
    if any(isinstance(block, ImageContent) for message in messages for block in message.content):
        headers["copilot-vision-request"] = "true"
    return headers
