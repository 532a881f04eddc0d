"""Markdown that grows: finished blocks are drawn once and kept, only the last one is drawn anew.

The cost of a frame does not depend on how much stands before the last block. A code block that is still open is not
even parsed: its finished lines are kept too.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, NamedTuple

from piolet.tui.highlight import GrowingCode, highlight
from piolet.tui.markdown import Document, code_rows, code_style, diagram_lines, fence_line, render
from piolet.tui.markdown_inline import Look
from piolet.tui.spans import BLANK, Line
from piolet.tui.text import safe_for_terminal

_opening = re.compile(r" {0,3}(`{3,}|~{3,})([^`\n]*)\n|( {0,3})(~{3,})([^\n]*)\n")
# The beginning of a line that would be drawn as something else before it is complete.
_undecided = re.compile(r"\n {0,3}(?:[-=]+|[*+_]+|#{1,6}|`+|~+|\d+[.)]?|\|?[-:| ]*)\Z")


class Above(NamedTuple):
    """What a text that goes on must know of what is drawn above it: whether a blank line follows that, which number
    the list item has that the text begins with, and what links were defined."""

    gap: bool
    number: int | None
    env: dict[str, Any]


class MarkdownStream:
    """A markdown text to which pieces are added. `above`: it goes on below what somebody else has drawn."""

    def __init__(self, limit: int, look: Look | None = None, *, above: Above | None = None) -> None:
        self._look = look or Look()
        # What is drawn before the text is complete.
        self._draft = replace(self._look, mermaid="off") if self._look.mermaid == "final" else self._look
        self._limit = max(1, limit)
        self._text: list[str] = []
        self._above = above
        self._reset()

    def _reset(self) -> None:
        self._stable: list[Line] = []  # the lines of finished blocks
        self._finished = 0  # the characters of their source
        self._rest = ""  # the source behind them
        self._last: list[Line] = []  # how that is drawn
        above = self._above or Above(False, None, {})
        self._gap = above.gap  # whether a blank line parts the two
        self._number = above.number  # of the list item that the rest begins with
        self._env = dict(above.env)
        self._fence: _OpenFence | None = None
        self._dirty = False

    @property
    def text(self) -> str:
        """All that was added."""
        return "".join(self._text)

    def append(self, text: str) -> None:
        """Add a piece of text. It is cheap; drawing waits for `lines`."""
        text = safe_for_terminal(text)
        if text:
            self._text.append(text)
            self._rest += text
            self._dirty = True

    def resize(self, limit: int) -> None:
        """Draw anew for rows of `limit` cells."""
        if max(1, limit) != self._limit:
            self._limit = max(1, limit)
            self._reset()
            self._rest, self._dirty = self.text, True

    def lines(self) -> list[Line]:
        """Return the lines of the text so far. A code block that is open is drawn closed."""
        if self._dirty:
            self._dirty = False
            while self._advance():
                pass
        gap = [BLANK] if self._parted and self._last else []
        return [*self._stable, *gap, *self._last]

    def settle(self) -> tuple[list[Line], int]:
        """Return the lines of the blocks that were finished when last drawn, and the characters of their source. They
        are forgotten: from now on only what is behind them is drawn."""
        lines, finished = self._stable, self._finished
        if lines:
            self._text = [self.text[finished:]]
            self._stable, self._finished = [], 0
            self._above = Above(self._gap, self._number, self._env)
        return lines, finished

    @property
    def above(self) -> Above | None:
        """What is to be known of what was settled, if anything was."""
        return self._above

    def finish(self) -> list[Line]:
        """Return the lines of the complete text, exactly as `render` draws it."""
        lines = render(self.text, self._limit, self._look)
        self._reset()
        self._stable = lines
        return list(lines)

    def _advance(self) -> bool:
        """Keep what is finished and draw the last block; return whether more may be finished now."""
        if self._fence is not None:
            return self._grow_fence(self._fence)
        shown = _undecided.sub("\n", "\n" + self._rest)[1:]
        document = Document(shown, self._draft, env=self._env, first_number=self._number)
        blocks = document.blocks
        complete = shown.count("\n")
        last = max((n for n, block in enumerate(blocks) if block.line < complete), default=0)
        if last:
            self._keep(document.lines(blocks[:last], self._limit))
            self._gap, self._number = blocks[last].gap, blocks[last].number
            rest = "".join(self._rest.splitlines(keepends=True)[blocks[last].line :])
            self._finished += len(self._rest) - len(rest)
            self._rest = rest
        if blocks and self._open_fence():
            return True
        self._last = document.lines(blocks[last:], self._limit)
        return False

    def _keep(self, lines: list[Line]) -> None:
        if self._parted and lines:
            self._stable.append(BLANK)
        self._stable += lines

    @property
    def _parted(self) -> bool:
        return self._gap and (bool(self._stable) or self._above is not None)

    def _open_fence(self) -> bool:
        match = _opening.match(self._rest)
        if not match:
            return False
        marker, info = match[1] or match[4], match[2] if match[1] else match[5]
        self._fence = _OpenFence(marker, info.strip(), self._rest.index(marker), self._limit, self._draft)
        self._rest = self._rest[match.end() :]
        return True

    def _grow_fence(self, fence: _OpenFence) -> bool:
        *complete, partial = self._rest.split("\n")
        for number, line in enumerate(complete):
            if fence.closes(line):
                self._keep(fence.finished())
                self._rest = "\n".join([*complete[number + 1 :], partial])
                self._finished = len(self.text) - len(self._rest)
                self._fence, self._last, self._gap, self._number = None, [], True, None
                return bool(self._rest)
            fence.add(line)
        self._rest = partial
        self._last = fence.drawn(partial)
        return False


class _OpenFence:
    """A code block that is not closed yet."""

    def __init__(self, marker: str, info: str, indent: int, limit: int, look: Look) -> None:
        self._marker, self._indent, self._limit, self._look = marker, indent, limit, look
        self._language = info.split()[0] if info else ""
        self._code = GrowingCode(self._language, code_style(look))
        self._head = fence_line(marker + info, limit)
        self._foot = fence_line(marker, limit)
        self._rows: list[Line] = []
        self._source: list[Line] = self._code.lines  # what `_rows` were made from
        self._used = 0

    def closes(self, line: str) -> bool:
        bare = line.strip(" ")
        return (
            len(line) - len(line.lstrip(" ")) < 4 and len(bare) >= len(self._marker) and not bare.strip(self._marker[0])
        )

    def add(self, line: str) -> None:
        self._code.add(self._dedented(line))

    def drawn(self, partial: str) -> list[Line]:
        """Return the block with the beginning of one more line."""
        self._draw()
        partial = self._dedented(partial)
        tail = highlight(partial, self._language, code_style(self._look)) if partial else []
        rows = [row for line in tail for row in code_rows(line, self._limit, self._look)]
        return [*self._head, *self._rows, *rows, *self._foot]

    def finished(self) -> list[Line]:
        drawn = diagram_lines("\n".join(self._code.source), self._language, self._limit, self._look)
        if drawn:
            return drawn
        self._code.finish()
        return self.drawn("")

    def _draw(self) -> None:
        if self._source is not self._code.lines:  # all of it was coloured anew
            self._source, self._rows, self._used = self._code.lines, [], 0
        for line in self._source[self._used :]:
            self._rows += code_rows(line, self._limit, self._look)
        self._used = len(self._source)

    def _dedented(self, line: str) -> str:
        return line[min(self._indent, len(line) - len(line.lstrip(" "))) :]
