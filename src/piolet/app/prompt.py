"""What a user sends, and why it may be refused before a run starts."""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Sequence

from msgspec import Struct

from piolet.harness.tools.options import ImageSettings
from piolet.llm.messages import ImageContent


class UserPrompt(Struct, frozen=True):
    """A text with images, as typed: commands, skills and templates are not expanded yet."""

    text: str
    images: Sequence[ImageContent] = ()


class PromptRejected(Exception):
    """A prompt that was not taken; nothing has changed. The text says what to do."""


def fitted(prompt: UserPrompt, settings: ImageSettings) -> UserPrompt:
    """Return `prompt` with images as models take them; what was done to one, or why it is left out, follows the text.

    One image that a provider refuses would fail every later request of its session too.
    """
    notes, images = list[str](), list[ImageContent]()
    for image in prompt.images:
        note, ready = _fitted(image, settings)
        notes += note
        images += [ready] if ready else []
    return UserPrompt("\n\n".join(filter(None, [prompt.text, "\n".join(notes)])), images)


def _fitted(image: ImageContent, settings: ImageSettings) -> tuple[list[str], ImageContent | None]:
    from piolet.harness.tools.content import SNIFF_BYTES, image_type
    from piolet.harness.tools.images import deliver

    try:
        data = b64decode(image.data, validate=True)
    except (binascii.Error, ValueError):
        return ["[Image omitted: its data is not base64.]"], None
    kind = image_type(data[:SNIFF_BYTES])
    if kind is None:
        return ["[Image omitted: its data is no PNG, JPEG, GIF, WebP or BMP.]"], None
    delivery = deliver(data, kind, settings)
    return delivery.note.splitlines()[1:], delivery.image
