"""A widget that shows a few lines: header, queue, footer, and whatever an extension puts there."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual.geometry import Size
from textual.strip import Strip
from textual.widget import Widget

from piolet.tui.blocks.frame import DIM
from piolet.tui.spans import BLANK, Line, clip, row
from piolet.tui.widgets.strips import StripMaker


class LinesView(Widget):
    """Shows the lines that `draw(width)` returns, as tall as they are many; none: nothing.

    `room`: how many lines it may take at most, but one; None: as many as there are.
    """

    DEFAULT_CSS = """
    LinesView { height: auto; width: 1fr; }
    """
    ALLOW_SELECT = False
    can_focus = False

    def __init__(self, draw: Callable[[int], Sequence[Line]], strips: StripMaker, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.auto_links = False
        self.room: Callable[[], int] | None = None
        self._draw = draw
        self._strips = strips
        self._lines: Sequence[Line] = ()
        self._drawn_for = 0

    @property
    def rows(self) -> int:
        """How many lines it shows."""
        return len(self._lines)

    def redraw(self) -> None:
        """Ask for the lines again; the layout is done anew only if their number has changed."""
        if not self.is_attached or not self._drawn_for:
            return
        before = self._lines
        self._lines = self._cut(self._draw(self._drawn_for), self._drawn_for)
        if len(before) != len(self._lines):
            self.refresh(layout=True)
        elif before != self._lines:
            self.refresh()

    def _cut(self, lines: Sequence[Line], width: int) -> Sequence[Line]:
        room = len(lines) if self.room is None else max(1, self.room())
        if len(lines) <= room:
            return tuple(lines)
        rest = clip(row(f"... ({len(lines) - room + 1} more lines)", DIM), width)
        return (*lines[: room - 1], rest)

    def set_strips(self, strips: StripMaker) -> None:
        """Use another theme."""
        self._strips = strips
        self._drawn_for = self._drawn_for and self.size.width
        self.refresh()
        self.redraw()

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        if width != self._drawn_for:
            self._drawn_for = width
            self._lines = self._cut(self._draw(width), width)
        return len(self._lines)

    def render_line(self, y: int) -> Strip:
        return self._strips.strip(self._lines[y] if y < len(self._lines) else BLANK, self.size.width)
