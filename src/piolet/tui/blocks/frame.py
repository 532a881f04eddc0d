"""The surroundings that a block is drawn in, and the ways in which blocks take their place there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from piolet.tui.markdown import render
from piolet.tui.markdown_inline import Look, Mermaid
from piolet.tui.pictures import PictureRoom
from piolet.tui.spans import BLANK, PLAIN, Color, Line, Span, Style, over, pad, row, wrap
from piolet.tui.text import expand_tabs, safe_for_terminal

MUTED, DIM = Style("muted"), Style("dim")

#: Characters above which text is not read as markdown: it would hold up the keys for seconds.
MAX_MARKDOWN = 200_000


@dataclass(frozen=True, slots=True)
class Frame:
    """`width`: cells of a row. `expanded`: foldable things are shown whole. `padding`: blank cells left and right of
    text without a box (setting ``outputPad``). `expand_key`: the key that unfolds, for hints. `animated`: what tells
    the time that passes may change by itself. `pictures`: the room for each; None: they are not drawn."""

    width: int
    expanded: bool = False
    padding: int = 1
    hyperlinks: bool = True
    code_indent: str = "  "
    mermaid: Mermaid = "off"
    expand_key: str = "ctrl+o"
    animated: bool = True
    pictures: PictureRoom | None = None

    def look(self, base: Style = PLAIN) -> Look:
        """Return how markdown is drawn here."""
        return Look(base, self.hyperlinks, self.code_indent, self.mermaid)

    @property
    def narrow(self) -> bool:
        """Too narrow for padding."""
        return self.width <= 4

    @property
    def box_width(self) -> int:
        """The cells inside a box."""
        return max(1, self.width if self.narrow else self.width - 2)

    @property
    def text_width(self) -> int:
        """The cells of a row of text without a box."""
        return max(1, self.width if self.narrow else self.width - 2 * self.padding)


def inset(lines: Iterable[Line], frame: Frame) -> list[Line]:
    """Return `lines` of `frame.text_width` cells, moved right by the padding."""
    blanks = Span(" " * frame.padding)
    if not frame.padding or frame.narrow:
        return list(lines)
    return [(blanks, *line) if line else line for line in lines]


def box(lines: Sequence[Line], frame: Frame, background: Color) -> list[Line]:
    """Return `lines` of `frame.box_width` cells on a full-width `background`, with a blank row above and below."""
    style = Style(bg=background)
    edge = () if frame.narrow else (Span(" ", style),)
    blank = row(" " * frame.width, style)
    body = [pad((*edge, *over(line, style)), frame.width, style) for line in lines]
    return [blank, *body, blank]


def plain(text: str, width: int, style: Style = PLAIN) -> list[Line]:
    """Return foreign `text` as wrapped lines of one style."""
    text = expand_tabs(safe_for_terminal(text))
    return [line for source in text.split("\n") for line in wrap(row(source, style), width)]


def markdown(text: str, width: int, frame: Frame, base: Style = PLAIN) -> list[Line]:
    """Return foreign markdown as lines over a base style; what is very long as it is, for it is a log and no prose."""
    return render(text, width, frame.look(base)) if len(text) <= MAX_MARKDOWN else plain(text, width, base)


def joined(*groups: Sequence[Line]) -> list[Line]:
    """Return the groups that are not empty, parted by blank lines."""
    lines: list[Line] = []
    for group in groups:
        if group:
            if lines:
                lines.append(BLANK)
            lines += group
    return lines
