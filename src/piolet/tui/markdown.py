"""Markdown as styled lines of a given width (terminal specification, section 6).

A text is a sequence of blocks, which are drawn one by one; at the top, and inside lists, each item is a block, so that
a long list need not be drawn anew when it grows (`piolet.tui.markdown_stream`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from piolet.tui import text as cells
from piolet.tui.highlight import highlight
from piolet.tui.markdown_inline import Look, inline_rows, parser
from piolet.tui.markdown_table import Align, Cell, table_lines
from piolet.tui.spans import BLANK, Line, Span, Style, clip, over, row, wrap

if TYPE_CHECKING:
    from markdown_it.token import Token

RULE_WIDTH = 80
NARROW = 24  # in fewer cells, what nesting takes away may leave nothing, and lines are cut off
NESTING = 4  # columns that a list inside a list is set in

_box = re.compile(r"\[[ xX]\] ")
_HEADING = Style("mdHeading", bold=True)
_BULLET = Style("mdListBullet")
_QUOTE, _QUOTE_BORDER = Style("mdQuote", italic=True), Style("mdQuoteBorder")
_CODE, _FENCE, _RULE = Style("mdCodeBlock"), Style("mdCodeBlockBorder"), Style("mdHr")


@dataclass(frozen=True, slots=True)
class Block:
    """One block. `line`: where it begins in the source; `gap`: a blank line stands before it, unless it is the first;
    `marker`: what stands before a list item (``- ``, ``3. ``), else empty; `number` of an item of a numbered list."""

    tokens: Sequence[Token]
    line: int
    gap: bool
    marker: str = ""
    number: int | None = None


def render(
    text: str,
    limit: int,
    look: Look | None = None,
    *,
    env: dict[str, Any] | None = None,
    first_number: int | None = None,
) -> list[Line]:
    """Return the lines of the markdown `text` in rows of at most `limit` cells. `text` may be foreign; if it goes on
    from another, `env` and `first_number` are as in `Document`."""
    document = Document(cells.safe_for_terminal(text), look or Look(), env=env, first_number=first_number)
    return document.lines(document.blocks, limit)


class Document:
    """A markdown text, parsed. `env` keeps link definitions over several documents; `first_number` is the number of the
    item that the text begins with."""

    def __init__(
        self, text: str, look: Look, *, env: dict[str, Any] | None = None, first_number: int | None = None
    ) -> None:
        self._look = look
        self._source = text.split("\n")
        tokens = parser().parse(text, {} if env is None else env)
        self.blocks = list(self._split(tokens, nested=False, first_number=first_number))

    def lines(self, blocks: Sequence[Block], limit: int) -> list[Line]:
        """Return the lines of some of the blocks, the first without a blank line before it."""
        lines = self._stack(blocks, max(1, limit), self._look.base)
        return lines if limit >= NARROW else [clip(line, limit, "") for line in lines]

    # ---------------------------------------------------------------------------------------------------- structure

    def _split(self, tokens: Sequence[Token], *, nested: bool, first_number: int | None = None) -> Iterator[Block]:
        at = 0
        while at < len(tokens):
            token = tokens[at]
            end = _end(tokens, at)
            line = token.map[0] if token.map else 0
            gap = self._blank_before(line) if nested else True
            if token.type in ("bullet_list_open", "ordered_list_open"):
                yield from self._items(tokens[at + 1 : end - 1], token, gap, first_number)
            elif token.type != "paragraph_open" or tokens[at + 1].children:
                yield Block(tokens[at:end], line, gap)
            first_number = None
            at = end

    def _items(self, tokens: Sequence[Token], parent: Token, gap: bool, first_number: int | None) -> Iterator[Block]:
        ordered = parent.type == "ordered_list_open"
        number = first_number if first_number is not None else int(parent.attrs.get("start", 1))
        at = 0
        while at < len(tokens):
            end = _end(tokens, at)
            line = tokens[at].map[0] if tokens[at].map else 0  # type: ignore[index]
            marker = f"{number}{tokens[at].markup} " if ordered else "- "
            before = gap if at == 0 else self._blank_before(line)
            yield Block(tokens[at + 1 : end - 1], line, before, marker, number if ordered else None)
            number += 1
            at = end

    def _blank_before(self, line: int) -> bool:
        return 0 < line <= len(self._source) and not self._source[line - 1].strip(" \t>")

    # ------------------------------------------------------------------------------------------------------ drawing

    def _stack(self, blocks: Sequence[Block], limit: int, style: Style) -> list[Line]:
        lines: list[Line] = []
        for number, block in enumerate(blocks):
            if number and block.gap:
                lines.append(BLANK)
            lines += self._item(block, limit, style) if block.marker else self._block(block, limit, style)
        return lines

    def _item(self, item: Block, limit: int, style: Style) -> list[Line]:
        lines: list[Line] = []
        indent = len(item.marker)
        for block in self._split(item.tokens, nested=True):
            inset = NESTING if block.marker else indent
            if lines and block.gap:
                lines.append(BLANK)
            inner = self._stack([block], max(1, limit - inset), style)
            lines += [(Span(" " * inset), *line) if line else BLANK for line in inner]
        gutter, *first = lines[0] if lines and lines[0] else (Span(""),)
        marker = item.marker.ljust(len(gutter.text))
        if first and _box.match(first[0].text):
            marker += first[0].text[:4]
            first[0] = Span(first[0].text[4:], first[0].style)
        return [(Span(marker, _BULLET), *first), *lines[1:]]

    def _block(self, block: Block, limit: int, style: Style) -> list[Line]:
        token = block.tokens[0]
        match token.type:
            case "paragraph_open":
                return self._inline(block.tokens[1], limit, style)
            case "heading_open":
                return self._heading(block, limit, style)
            case "fence":
                return self._fence(token, limit)
            case "code_block":
                return code_lines(token.content.removesuffix("\n"), "", limit, self._look)
            case "blockquote_open":
                blocks = list(self._split(block.tokens[1:-1], nested=False))
                inner = self._stack(blocks, max(1, limit - 2), _QUOTE.over(style))
                return [(Span("│ ", _QUOTE_BORDER), *line) for line in inner or [BLANK]]
            case "hr":
                return [row("─" * min(limit, RULE_WIDTH), _RULE)]
            case "table_open":
                return self._table(block, limit, style)
            case _:
                return [line for source in token.content.split("\n") for line in wrap(row(source, style), limit)]

    def _inline(self, token: Token, limit: int, style: Style) -> list[Line]:
        return [line for spans in inline_rows(token, self._look, style) for line in wrap(spans, limit)]

    def _heading(self, block: Block, limit: int, style: Style) -> list[Line]:
        level = int(block.tokens[0].tag[1])
        style = _HEADING._replace(underline=level == 1).over(style)
        rows = inline_rows(block.tokens[1], self._look, style)
        if level >= 3:
            rows[0].insert(0, Span("#" * level + " ", style))
        return [line for spans in rows for line in wrap(spans, limit)]

    def _fence(self, token: Token, limit: int) -> list[Line]:
        language = token.info.split()[0] if token.info.strip() else ""
        body = token.content.removesuffix("\n")
        if self._closed(token) and (drawn := diagram_lines(body, language, limit, self._look)):
            return drawn
        inner = code_lines(body, language, limit, self._look) if token.content else []
        return [*fence_line(token.markup + token.info, limit), *inner, *fence_line(token.markup, limit)]

    def _closed(self, fence: Token) -> bool:
        start, end = fence.map or (0, 0)
        last = self._source[end - 1].lstrip(" \t>")
        return end - start > 1 and last.startswith(fence.markup) and not last.strip(fence.markup[0] + " ")

    def _table(self, block: Block, limit: int, style: Style) -> list[Line]:
        rows: list[list[Cell]] = []
        aligns: list[Align] = []
        for number, token in enumerate(block.tokens):
            if token.type == "tr_open":
                rows.append([])
            elif token.type in ("th_open", "td_open"):
                heads = token.type == "th_open"
                if heads:
                    aligns.append(_alignment(str(token.attrs.get("style", ""))))
                inner = Style(bold=True).over(style) if heads else style
                rows[-1].append(inline_rows(block.tokens[number + 1], self._look, inner))
        drawn = table_lines(rows, aligns, limit, style)
        if drawn:
            return drawn
        start, end = block.tokens[0].map or (0, 0)
        return [line for source in self._source[start:end] for line in wrap(row(source.strip(), style), limit)]


def _end(tokens: Sequence[Token], start: int) -> int:
    """Return the index behind the token that closes what the one at `start` opens."""
    depth = 0
    for index in range(start, len(tokens)):
        depth += tokens[index].nesting
        if depth == 0:
            return index + 1
    return len(tokens)


def _alignment(style: str) -> Align:
    if style.endswith("right"):
        return "right"
    return "center" if style.endswith("center") else "left"


def fence_line(text: str, limit: int) -> list[Line]:
    """Return the line that opens or closes a code block."""
    return wrap(row(text, _FENCE), limit)


def code_lines(code: str, language: str, limit: int, look: Look) -> list[Line]:
    """Return the lines of a code block between its fences."""
    return [line for source in highlight(code, language, code_style(look)) for line in code_rows(source, limit, look)]


def diagram_lines(code: str, language: str, limit: int, look: Look) -> list[Line]:
    """Return a code block as a drawing, if it is a diagram that can be drawn in rows of `limit` cells."""
    if language.lower() != "mermaid" or look.mermaid == "off":
        return []
    from piolet.tui.mermaid import diagram  # most texts hold none

    return [over(line, look.base) for line in diagram(code, limit) or ()]


def code_style(look: Look) -> Style:
    """Return the style of code without a colour of its own."""
    return _CODE.over(look.base)


def code_rows(line: Line, limit: int, look: Look) -> list[Line]:
    """Return one line of code, set in and wrapped."""
    indent = look.code_indent if len(look.code_indent) < limit else ""
    if not line:
        return [BLANK]
    return [(Span(indent), *piece) if indent else piece for piece in wrap(line, limit - len(indent))]
