"""The protocol of panels, and what they have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from piolet.tui.keys import Key
from piolet.tui.spans import Line, Style, row
from piolet.tui.text import one_line, wrap

TITLE, HINT, RULE = Style(bold=True), Style("muted"), Style("border")


class Panel(Protocol):
    """Something that is drawn in place of the editor and takes the keys meanwhile."""

    def lines(self, width: int, height: int) -> Sequence[Line]:
        """Return at most `height` lines of at most `width` cells."""

    def handle(self, key: Key) -> bool:
        """Take a key; return whether it meant something here."""

    def paste(self, text: str) -> None:
        """Take what was pasted."""


def head_lines(title: str, hints: Sequence[str], width: int) -> list[Line]:
    """Return a rule, the title and the hints of a panel."""
    lines = [row("─" * width, RULE)]
    if title:
        lines += [row(f"  {text}", TITLE) for text in wrap(one_line(title), max(1, width - 2))]
    return lines + [row(f" {text}", HINT) for hint in hints for text in wrap(hint, max(1, width - 1))]


def key_hints(hints: Sequence[str], width: int, height: int) -> Sequence[str]:
    """Return the hints about keys; none where they would take more than a quarter of `height` lines: what the keys are
    for comes first."""
    lines = sum(len(wrap(hint, max(1, width - 1))) for hint in hints)
    return hints if 4 * lines <= height else ()


def fit_height(head: Sequence[Line], body: Sequence[Line], height: int, typed: Line | None = None) -> list[Line]:
    """Return `head` over the line that is `typed` in over `body`, in at most `height` lines. Where there is no room for
    all, the head loses its rule, then its end, then the typed line goes; the body stays."""
    below = [*(() if typed is None else (typed,)), *body]
    room = max(0, height - len(below))
    shown = head if len(head) <= room else head[1 : room + 1]
    return [*shown, *(below if len(below) <= height else body[: max(1, height)])]
