"""The transcript in regular mode: finished blocks go to the terminal's own scrollback, only the rest is drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from textual import events
from textual.app import App
from textual.geometry import Size

from piolet.tui.ansi import AnsiWriter
from piolet.tui.blocks.frame import DIM
from piolet.tui.spans import BLANK, Color, Line, row
from piolet.tui.transcript import Place, TranscriptBlock
from piolet.tui.widgets.strips import StripMaker
from piolet.tui.widgets.transcript_view import TranscriptView

#: Blocks of a session that are printed when it is opened; what is older stays in its file.
LAST_BLOCKS = 300
#: Rows that are left to editor and footer.
OTHER_ROWS = 8


class TailView(TranscriptView):
    """Prints each finished block once, in order, and shows those behind the last of them.

    `finished(block)`: whether a block will not change any more. `print_above(app, text)` puts lines above the app.
    """

    DEFAULT_CSS = """
    TailView { height: auto; width: 1fr; }
    """

    def __init__(
        self,
        strips: StripMaker,
        finished: Callable[[TranscriptBlock], bool],
        print_above: Callable[[App[Any], str], None],
        *,
        id: str | None = None,
    ) -> None:
        super().__init__(strips, scrollbar="hidden", id=id)
        self.palette: Mapping[str, Color] = {}
        self._finished = finished
        self._print_above = print_above
        self._printed: dict[int, TranscriptBlock] = {}  # by identity
        self._any = False

    def paint(self) -> None:
        """Print what is finished, and draw the rest."""
        if lines := self._take(self._finished):
            writer = AnsiWriter(self.palette, links=self.transcript.frame.hyperlinks)
            self._print_above(self.app, "".join(f"{line}\n" for line in writer.lines(lines)))
        before = len(self._lines)
        super().paint()
        if before != len(self._lines):
            self.refresh(layout=True)

    def rest(self) -> list[Line]:
        """Return the lines that were not printed yet; they count as printed from now on."""
        return self._take(lambda block: True)

    def _take(self, finished: Callable[[TranscriptBlock], bool]) -> list[Line]:
        """Return the lines of the blocks at the beginning that are `finished` and were not taken yet."""
        wanted: list[TranscriptBlock] = []
        for block in self.transcript.blocks:
            if id(block) not in self._printed:
                if not finished(block):
                    break
                wanted.append(block)
        lines: list[Line] = []
        if len(wanted) > LAST_BLOCKS:
            lines = [row(f" ({len(wanted) - LAST_BLOCKS} earlier parts of the session are not shown)", DIM)]
            self._any = True
        for number, block in enumerate(wanted):
            self._printed[id(block)] = block
            if number >= len(wanted) - LAST_BLOCKS and (drawn := block.lines(self.transcript.frame)):
                lines += [*([BLANK] if self._any else []), *drawn]
                self._any = True
        return lines

    def _compose_lines(self) -> list[Line]:
        """Return the last rows of what is not printed."""
        blocks = self.transcript.blocks
        first = next((n for n, block in enumerate(blocks) if id(block) not in self._printed), len(blocks))
        rows = [visible.line for visible in self.transcript.rows_from(Place(first, 0))]
        room = max(1, self.app.size.height - OTHER_ROWS)
        return rows[-room:]

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        if width != self.transcript.frame.width:
            self.transcript.resize(replace(self.transcript.frame, width=width), 1)
        self._lines = self._compose_lines()
        return len(self._lines)

    def on_resize(self, event: events.Resize) -> None:
        self.refresh()
