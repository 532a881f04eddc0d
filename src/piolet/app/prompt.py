"""What a user sends, and why it may be refused before a run starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from piolet.llm.messages import ImageContent


@dataclass(frozen=True, slots=True)
class UserPrompt:
    """A text with images, as typed: commands, skills and templates are not expanded yet."""

    text: str
    images: Sequence[ImageContent] = ()


class PromptRejected(Exception):
    """A prompt that was not taken; nothing has changed. The text says what to do."""
