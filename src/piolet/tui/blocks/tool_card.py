"""The card of a tool call: a box whose background tells how it stands, the call's line, and a foldable body."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from piolet.tui.blocks.frame import Frame, box
from piolet.tui.spans import BLANK, Line

CardStatus: TypeAlias = Literal["pending", "success", "error"]
BACKGROUNDS = {"pending": "toolPendingBg", "success": "toolSuccessBg", "error": "toolErrorBg"}


@dataclass(frozen=True, slots=True)
class Card:
    """A drawn call: the lines of the call, those of the body, both in rows of `Frame.box_width`; `boxed` is False for
    a renderer that draws its own shell in rows of `Frame.width`."""

    call: Sequence[Line]
    body: Sequence[Line] = ()
    status: CardStatus = "pending"
    boxed: bool = True


def card_lines(card: Card, frame: Frame) -> list[Line]:
    """Return the card."""
    lines = [*card.call, BLANK, *card.body] if card.body else list(card.call)
    return box(lines, frame, BACKGROUNDS[card.status]) if card.boxed else lines
