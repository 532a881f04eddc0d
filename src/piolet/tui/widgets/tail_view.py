"""The transcript in regular mode: finished lines go to the terminal's own scrollback, only the rest is drawn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from textual import events
from textual.geometry import Size

from piolet.tui.scrollback import Scrollback
from piolet.tui.spans import BLANK, Line
from piolet.tui.transcript import Transcript, TranscriptBlock
from piolet.tui.widgets.inline import InlineWidget
from piolet.tui.widgets.strips import StripMaker
from piolet.tui.widgets.transcript_view import TranscriptView


class TailView(InlineWidget, TranscriptView):
    """Prints what is final, once and in order, and shows the last rows of what is not.

    `finished(block)`: whether a block will not change any more; `ready(block)`: whether it can be printed.
    `print_above(lines)` puts lines above the app. `room()`: the rows that there are for it.
    """

    DEFAULT_CSS = """
    TailView { height: auto; width: 1fr; }
    """

    def __init__(
        self,
        strips: StripMaker,
        scrollback: Scrollback,
        *,
        finished: Callable[[TranscriptBlock], bool],
        ready: Callable[[TranscriptBlock], bool],
        print_above: Callable[[list[Line]], None],
        room: Callable[[], int],
        transcript: Transcript,
    ) -> None:
        super().__init__(strips, transcript=transcript, scrollbar="hidden")
        self._scrollback = scrollback
        self._finished = finished
        self._ready = ready
        self._print_above = print_above
        self._room = room
        self._least = 0
        self._live: list[Line] = []  # the last lines of what is not printed, on a screen of this size
        self._live_for: Size | None = None

    def set_frame(self, **changes: object) -> None:
        """Draw what is not printed in another frame; what was last printed is printed again if it is unfolded now."""
        before = self.transcript.frame
        super().set_frame(**changes)
        if self.transcript.frame.expanded and not before.expanded:
            lines = self._scrollback.unfolded(self.transcript, before, self.app.size.height)
            self._print(lines)

    def paint(self) -> None:
        """Print what is final, and draw the rest."""
        before = len(self._lines)
        super().paint()
        if before != len(self._lines):
            self.refresh(layout=True)

    def _compose_lines(self) -> list[Line]:
        frame = replace(self.transcript.frame, width=self.app.size.width)
        self.transcript.resize(frame, 1)
        self._print(self._scrollback.take(self.transcript, self._finished, self._ready))
        self._live_for = self.app.size
        self._live = self._scrollback.live(self.transcript, self.app.size.height)
        return self._last(self._live)

    def _print(self, lines: list[Line]) -> None:
        if lines:
            self._print_above(lines)
            self.refresh()

    def _last(self, lines: list[Line]) -> list[Line]:
        """Return as many of `lines` as there is room for."""
        lines = lines[max(0, len(lines) - self._room()) :]
        return [BLANK] * (self._least - len(lines)) + lines

    def set_least(self, rows: int) -> None:
        """Take at least so many rows."""
        if rows != self._least:
            self._least = rows
            self.paint()

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        self._lines = self._last(self._live) if self._live_for == self.app.size else self._compose_lines()
        return len(self._lines)

    def on_resize(self, event: events.Resize) -> None:
        event.prevent_default()  # its lines were made when it was asked for its height
