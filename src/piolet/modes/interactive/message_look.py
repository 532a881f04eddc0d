"""How the messages of a session are shown: what the user chose, and who draws what the product does not know."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from piolet.app.extensions.definitions import MessageType
from piolet.app.renderers.registry import BUILT_IN
from piolet.app.renderers.view import ToolRenderer
from piolet.harness.messages import CustomMessage
from piolet.harness.session.entries import CustomEntry
from piolet.llm.messages import ImageContent
from piolet.tui.blocks.frame import Frame
from piolet.tui.blocks.messages import THINKING_LABEL
from piolet.tui.pictures import Album, Picture
from piolet.tui.spans import Line


class CustomRenderers(Protocol):
    """Draws what only extensions know."""

    def message(self, message: CustomMessage, frame: Frame) -> Sequence[Line] | None:
        """Return a custom message as lines; None: nobody draws it."""

    def entry(self, entry: CustomEntry, frame: Frame) -> Sequence[Line] | None:
        """Return a custom entry as lines; None: nobody draws it."""

    def draws_entries(self, custom_type: str) -> bool:
        """Whether somebody draws entries of a type."""

    def transformer(self, message_type: MessageType) -> Callable[[str, bool], str] | None:
        """Return what changes the text of messages, which may still be growing, before it is drawn; None: nothing."""


@dataclass
class Look:
    """How messages are shown: whether thinking is hidden and behind what label, who draws tools and what extensions
    add, what paths are shortened by, where the pictures are."""

    cwd: str = ""
    home: str = ""
    hide_thinking: bool = False
    thinking_label: str = THINKING_LABEL
    renderers: Mapping[str, ToolRenderer] = field(default_factory=lambda: BUILT_IN)
    custom: CustomRenderers | None = None
    album: Album = field(default_factory=Album)

    def pictures(self, content: str | Sequence[object], known: Iterable[Picture] = ()) -> list[Picture]:
        """Return the pictures in the content of a message; those that are `known` already stay the same."""
        before = {picture.data: picture for picture in known}
        images = [block for block in content if isinstance(block, ImageContent)]
        return [before.get(image.data) or self.album.add(Picture(image.data, image.mime_type)) for image in images]

    def transformer(self, message_type: MessageType) -> Callable[[str, bool], str] | None:
        """Return what changes the text of messages, if anything does."""
        return self.custom.transformer(message_type) if self.custom is not None else None
