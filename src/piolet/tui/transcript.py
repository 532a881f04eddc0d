"""The transcript: a long list of blocks of which a window is seen. Pure: it knows neither toolkit nor terminal.

Blocks are drawn only when they come into sight; until then their height is a guess from their text. The window is tied
to a row of a block, not to a row number, so that what happens elsewhere (guesses that become exact, a block above that
grows) never moves what is being read. At the end it follows what is added.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Protocol

from piolet.tui.blocks.frame import Frame
from piolet.tui.spans import BLANK, Line

KEPT = 256  # blocks whose lines are kept although they are out of sight


class TranscriptBlock(Protocol):
    """A block. After its lines have changed, `Transcript.changed` must be told."""

    @property
    def source(self) -> str:
        """The text that it shows, roughly: for guessing heights and finding words."""

    @property
    def is_prompt(self) -> bool:
        """Whether it is a message of the user, to which keys jump."""

    def lines(self, frame: Frame) -> Sequence[Line]:
        """Return its lines, none wider than the frame; none at all if there is nothing to see."""


@dataclass(slots=True, eq=False)
class _Entry:
    block: TranscriptBlock
    height: int
    exact: bool = False
    lines: Sequence[Line] | None = None
    flipped: bool = False  # folded or unfolded against the others


@dataclass(frozen=True, slots=True)
class Place:
    """A row: the number of the block, and its row, 0 being the blank line above the block unless it is the first."""

    block: int
    row: int


@dataclass(frozen=True, slots=True)
class VisibleRow:
    """A row of the window and where it is."""

    place: Place
    line: Line


class Transcript:
    """Blocks and a window of `height` rows on them."""

    def __init__(self, frame: Frame, height: int) -> None:
        self._frame = frame
        self._height = max(1, height)
        self._entries: list[_Entry] = []
        self._numbers: dict[int, int] = {}  # by the identity of the block
        self._top = Place(0, 0)
        self._following = True
        self._offsets: list[int] = []  # rows above each block, as far as they are known
        self._kept: dict[int, _Entry] = {}

    # ------------------------------------------------------------------------------------------------------- blocks

    @property
    def blocks(self) -> list[TranscriptBlock]:
        return self.blocks_from(0)

    def blocks_from(self, number: int) -> list[TranscriptBlock]:
        """Return the blocks from the one at `number` on."""
        return [entry.block for entry in self._entries[number:]]

    def add(self, block: TranscriptBlock) -> None:
        """Put `block` at the end."""
        self._numbers[id(block)] = len(self._entries)
        self._entries.append(_Entry(block, self._guess(block)))

    def insert(self, number: int, block: TranscriptBlock) -> None:
        """Put `block` before the one at `number`."""
        self._entries.insert(number, _Entry(block, self._guess(block)))
        if not self._following and number <= self._top.block:
            self._top = Place(self._top.block + 1, self._top.row)
        self._renumber(number)

    def remove(self, block: TranscriptBlock) -> None:
        """Take `block` out."""
        number = self._numbers.pop(id(block))
        del self._entries[number]
        if number < self._top.block:
            self._top = Place(self._top.block - 1, self._top.row)
        self._renumber(number)

    def replace_all(self, blocks: Sequence[TranscriptBlock]) -> None:
        """Show other blocks, from their end."""
        self._entries = [_Entry(block, self._guess(block)) for block in blocks]
        self._kept.clear()
        self._renumber(0)
        self.to_end()

    def changed(self, block: TranscriptBlock) -> None:
        """Take note that the lines of `block` are others now."""
        number = self._numbers.get(id(block))
        if number is not None:
            self._forget(number)

    def toggle(self, block: TranscriptBlock) -> None:
        """Fold or unfold one block."""
        number = self._numbers[id(block)]
        self._entries[number].flipped = not self._entries[number].flipped
        self._forget(number)

    # ------------------------------------------------------------------------------------------------------- window

    @property
    def frame(self) -> Frame:
        return self._frame

    @property
    def height(self) -> int:
        """The rows of the window."""
        return self._height

    @property
    def following(self) -> bool:
        """Whether the window stays at the end."""
        return self._following

    def resize(self, frame: Frame, height: int) -> None:
        """Draw in another frame, in a window of other height; the block at the top stays there."""
        self._height = max(1, height)
        if frame == self._frame:
            return
        folding = frame.expanded != self._frame.expanded
        self._frame = frame
        for entry in self._entries:
            entry.exact, entry.lines = False, None
            entry.height = entry.height if folding else self._guess(entry.block)
            entry.flipped = entry.flipped and not folding
        self._kept.clear()
        self._offsets.clear()
        if not self._following and self._entries:
            self._top = Place(self._top.block, min(self._top.row, self._rows(self._top.block) - 1))

    def to_end(self) -> None:
        """Show the end and follow it."""
        self._following = True

    def to_start(self) -> None:
        """Show the beginning."""
        self._set_top(Place(0, 0))

    def scroll(self, count: int) -> None:
        """Move the window `count` rows down (negative: up)."""
        self._set_top(self._step(self._resolve_top(), count))

    def show(self, place: Place, *, above: int = 0) -> None:
        """Move the window so that `place` is seen, with up to `above` rows over it."""
        self._set_top(self._step(place, -above))

    def reveal(self, place: Place) -> None:
        """Move the window only if `place` is out of sight, then so that it stands in its upper third."""
        if all(row.place != place for row in self.visible()):
            self.show(place, above=self._height // 3)

    def jump_to_prompt(self, direction: int) -> bool:
        """Show the next message of the user (`direction` 1) or the one before (-1) at the top; return whether there
        is one."""
        top = self._resolve_top()
        number = top.block + direction if direction > 0 or top.row <= 1 else top.block
        while 0 <= number < len(self._entries):
            if self._entries[number].block.is_prompt:
                self._set_top(Place(number, 1 if number else 0))
                return True
            number += direction
        return False

    def visible(self) -> list[VisibleRow]:
        """Return the rows of the window, fewer if there are not so many."""
        rows = list(islice(self.rows_from(self._resolve_top()), self._height))
        if len(rows) < self._height and not self._following:  # what was below the top has shrunk
            self._following = True
            return self.visible()
        return rows

    def rows_from(self, place: Place) -> Iterator[VisibleRow]:
        """Yield the rows from `place` on to the end."""
        number, row = place.block, place.row
        while number < len(self._entries):
            lines = self._lines(number)
            gap = self._gap(number)
            for at in range(row, len(lines) + gap):
                yield VisibleRow(Place(number, at), lines[at - gap] if at >= gap else BLANK)
            number, row = number + 1, 0

    def thumb(self) -> tuple[int, int] | None:
        """Return where the thumb of a scrollbar as tall as the window begins, and its size; None if all is seen."""
        top = self._resolve_top()
        total = self._offset(len(self._entries))
        if total <= self._height:
            return None
        size = max(1, self._height * self._height // total)
        above = min(self._offset(top.block) + top.row, total - self._height)
        return round(above * (self._height - size) / (total - self._height)), size

    def scroll_to_share(self, share: float) -> None:
        """Move the window to a share (0 to 1) of the way to the end, as dragging a thumb does."""
        if share >= 1:
            self.to_end()
            return
        wanted = round(share * max(0, self._offset(len(self._entries)) - self._height))
        low, high = 0, len(self._entries)
        while low + 1 < high:
            middle = (low + high) // 2
            low, high = (middle, high) if self._offset(middle) <= wanted else (low, middle)
        self._set_top(Place(low, wanted - self._offset(low)))

    # ------------------------------------------------------------------------------------------------------- search

    def find(self, matches: Callable[[str], bool], start: Place, direction: int) -> Iterator[Place]:
        """Yield the rows whose text `matches`, from behind `start` in `direction`, once around; `start` is the last.

        `matches` is asked for a block's whole source first, so that only blocks which may match are drawn.
        """
        count = len(self._entries)
        for step in range(count + 1 if count else 0):
            number = (start.block + direction * step) % count
            if not matches(self._entries[number].block.source):
                continue
            lines = self._lines(number)
            gap = self._gap(number)
            rows = range(gap, gap + len(lines))
            for row in rows if direction > 0 else reversed(rows):
                behind = (row - start.row) * direction > 0
                if (step == 0 and not behind) or (step == count and behind):
                    continue
                if matches("".join(span.text for span in lines[row - gap])):
                    yield Place(number, row)

    # ------------------------------------------------------------------------------------------------------ details

    def _set_top(self, place: Place) -> None:
        """Put `place` at the top of the window, or the end at its bottom if that is nearer."""
        self._following = False
        self._top = place
        end = self._end_top()
        if (place.block, place.row) >= (end.block, end.row):
            self._following = True

    def _resolve_top(self) -> Place:
        if self._following:
            return self._end_top()
        if self._top.block >= len(self._entries):
            self._following = True
            return self._end_top()
        return self._top

    def _end_top(self) -> Place:
        """Return the top of the window at the end."""
        missing = self._height
        for number in range(len(self._entries) - 1, -1, -1):
            missing -= self._rows(number)
            if missing <= 0:
                return Place(number, -missing)
        return Place(0, 0)

    def _step(self, place: Place, count: int) -> Place:
        """Return the place `count` rows further down (negative: up), at most the first or last row."""
        number, row = place.block, place.row + count
        while row < 0 and number > 0:
            number -= 1
            row += self._rows(number)
        while number < len(self._entries) - 1 and row >= self._rows(number):
            row -= self._rows(number)
            number += 1
        return Place(number, max(0, row))

    def _gap(self, number: int) -> int:
        """Return the blank lines above a block."""
        return 1 if number and self._entries[number].height else 0

    def _rows(self, number: int) -> int:
        """Return the exact rows of a block, with the blank line above it."""
        if not self._entries[number].exact:
            self._lines(number)
        return self._entries[number].height + self._gap(number)

    def _lines(self, number: int) -> Sequence[Line]:
        entry = self._entries[number]
        if entry.lines is None:
            frame = replace(self._frame, expanded=not self._frame.expanded) if entry.flipped else self._frame
            entry.lines = entry.block.lines(frame)
            if entry.height != len(entry.lines):
                entry.height = len(entry.lines)
                del self._offsets[number + 1 :]
            entry.exact = True
        self._kept.pop(id(entry), None)
        self._kept[id(entry)] = entry
        if len(self._kept) > max(KEPT, self._height):
            self._kept.pop(next(iter(self._kept))).lines = None
        return entry.lines

    def _forget(self, number: int) -> None:
        self._entries[number].exact, self._entries[number].lines = False, None

    def _guess(self, block: TranscriptBlock) -> int:
        """Guess the height of a block that was never drawn."""
        source = block.source
        return source.count("\n") + 1 + len(source) // max(1, self._frame.text_width) if source else 1

    def _offset(self, number: int) -> int:
        """Return the rows above a block; guesses where it was not drawn."""
        offsets = self._offsets
        if not offsets:
            offsets.append(0)
        for at in range(len(offsets) - 1, number):
            offsets.append(offsets[at] + self._entries[at].height + self._gap(at))
        return offsets[number]

    def _renumber(self, start: int) -> None:
        if start == 0:
            self._numbers.clear()
        for number in range(start, len(self._entries)):
            self._numbers[id(self._entries[number].block)] = number
        del self._offsets[start:]
