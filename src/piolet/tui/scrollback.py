"""What of a transcript stands in the terminal's own scrollback, from which nothing comes back. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol, runtime_checkable
from weakref import WeakSet

from piolet.tui.blocks.frame import DIM, Frame
from piolet.tui.prompt_marks import marked
from piolet.tui.spans import BLANK, Line, row
from piolet.tui.transcript import Transcript, TranscriptBlock

#: Blocks that are printed when a session is opened; what is older stays in its file.
LAST_BLOCKS = 300


@runtime_checkable
class Settling(Protocol):
    """A block whose first lines may be final while others arrive."""

    def settle(self, frame: Frame) -> Sequence[Line]:
        """Return the lines that will not change any more, and leave them out of `rest` from now on."""

    def rest(self, frame: Frame) -> Sequence[Line]:
        """Return the lines that were not settled."""


class Scrollback:
    """Gives out each line once, in order. `marks`: prompts are marked, for the keys of the terminal."""

    def __init__(self, *, marks: bool = True) -> None:
        self.marks = marks
        self._printed: WeakSet[TranscriptBlock] = WeakSet()
        self._begun: WeakSet[TranscriptBlock] = WeakSet()
        self._any = False
        self._count = 0  # of the blocks at the beginning that are printed

    def __bool__(self) -> bool:
        """Whether anything was printed."""
        return self._any

    def take(
        self,
        transcript: Transcript,
        finished: Callable[[TranscriptBlock], bool],
        ready: Callable[[TranscriptBlock], bool] = lambda block: True,
    ) -> list[Line]:
        """Return the lines that are to be printed now: those of `finished` blocks, up to the first one that is not,
        and what that has settled; or up to the first one that is not `ready` to be printed."""
        frame, blocks = transcript.frame, self._unprinted(transcript)
        unfinished = next((n for n, block in enumerate(blocks) if not finished(block)), len(blocks))
        skipped = max(0, unfinished - LAST_BLOCKS)
        lines = [row(f" ({skipped} earlier parts of the session are not shown)", DIM)] if skipped else []
        self._any = self._any or skipped > 0
        self._printed.update(blocks[:skipped])
        for block in blocks[skipped:unfinished]:
            if not ready(block):
                return lines
            drawn = self._open(block, frame)
            lines += self._parted(block, marked(drawn) if self.marks and block.is_prompt else drawn)
            self._printed.add(block)
        if unfinished < len(blocks) and isinstance(block := blocks[unfinished], Settling):
            lines += self._parted(block, block.settle(frame))
        return lines

    def live(self, transcript: Transcript, limit: int) -> list[Line]:
        """Return the lines that are not printed yet, only the last blocks if there are more than `limit`; pictures are
        drawn only where they stay."""
        frame = replace(transcript.frame, pictures=None)
        groups: list[tuple[TranscriptBlock, Sequence[Line]]] = []
        for block in reversed(self._unprinted(transcript)):
            if limit <= 0:
                break
            if drawn := self._open(block, frame):
                groups.append((block, drawn))
                limit -= len(drawn)
        lines: list[Line] = []
        for block, drawn in reversed(groups):
            if block not in self._begun and (lines or self._any):
                lines.append(BLANK)
            lines += drawn
        return lines

    def unfolded(self, transcript: Transcript, folded: Frame, rows: int) -> list[Line]:
        """Return what stands unfolded now, of the printed blocks in the last `rows` rows as they were when `folded`."""
        groups: list[Sequence[Line]] = []
        for block in reversed(transcript.blocks):
            if rows <= 0:
                break
            if block in self._printed:
                before = block.lines(folded)
                rows -= len(before) + 1
                if before != block.lines(transcript.frame):
                    groups.append(block.lines(replace(transcript.frame, pictures=None)))
        return [line for group in reversed(groups) for line in (BLANK, *group)]

    def _open(self, block: TranscriptBlock, frame: Frame) -> Sequence[Line]:
        return block.rest(frame) if isinstance(block, Settling) else block.lines(frame)

    def _parted(self, block: TranscriptBlock, lines: Sequence[Line]) -> list[Line]:
        """Return lines of a block that are printed, below a blank line if they are its first."""
        if not lines:
            return []
        first = block not in self._begun
        self._begun.add(block)
        before, self._any = self._any, True
        return [BLANK, *lines] if first and before else list(lines)

    def _unprinted(self, transcript: Transcript) -> list[TranscriptBlock]:
        known = transcript.blocks_from(self._count - 1)[:1] if self._count else []
        if not known or known[0] not in self._printed:
            self._count = 0
        blocks = transcript.blocks_from(self._count)
        new = next((n for n, block in enumerate(blocks) if block not in self._printed), len(blocks))
        self._count += new
        return [block for block in blocks[new:] if block not in self._printed]
