"""A widget that shows a few lines: header, queue, footer, and whatever an extension puts there."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual.geometry import Size
from textual.strip import Strip
from textual.widget import Widget

from piolet.tui.spans import BLANK, Line
from piolet.tui.widgets.strips import StripMaker


class LinesView(Widget):
    """Shows the lines that `draw(width)` returns, as tall as they are many; none: nothing."""

    DEFAULT_CSS = """
    LinesView { height: auto; width: 1fr; }
    """
    ALLOW_SELECT = False
    can_focus = False

    def __init__(self, draw: Callable[[int], Sequence[Line]], strips: StripMaker, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.auto_links = False
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
        self._lines = tuple(self._draw(self._drawn_for))
        if len(before) != len(self._lines):
            self.refresh(layout=True)
        elif before != self._lines:
            self.refresh()

    def set_strips(self, strips: StripMaker) -> None:
        """Use another theme."""
        self._strips = strips
        self._drawn_for = self._drawn_for and self.size.width
        self.refresh()
        self.redraw()

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        if width != self._drawn_for:
            self._drawn_for = width
            self._lines = tuple(self._draw(width))
        return len(self._lines)

    def render_line(self, y: int) -> Strip:
        return self._strips.strip(self._lines[y] if y < len(self._lines) else BLANK, self.size.width)
