"""What a user sends, and why it may be refused before a run starts."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from piolet.llm.messages import ImageContent


class UserPrompt(Struct, frozen=True):
    """A text with images, as typed: commands, skills and templates are not expanded yet."""

    text: str
    images: Sequence[ImageContent] = ()


class PromptRejected(Exception):
    """A prompt that was not taken; nothing has changed. The text says what to do."""
