"""A panel on the screen, in place of the editor."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual import events
from textual.geometry import Size
from textual.strip import Strip
from textual.widget import Widget

from piolet.tui.panels.panel import Panel
from piolet.tui.spans import BLANK, Line
from piolet.tui.widgets.key_events import key_of
from piolet.tui.widgets.strips import StripMaker


class PanelView(Widget):
    """Shows a `Panel` as tall as it wants, at most as the screen, and hands it keys and pastes."""

    DEFAULT_CSS = """
    PanelView { height: auto; width: 1fr; }
    """
    ALLOW_SELECT = False
    can_focus = True

    def __init__(self, panel: Panel, strips: StripMaker, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.auto_links = False
        self.panel = panel
        #: How many rows there are for it.
        self.room: Callable[[], int] = lambda: self.screen.size.height - 1
        self._strips = strips
        self._lines: Sequence[Line] = ()

    @property
    def rows(self) -> int:
        """How many lines it shows."""
        return len(self._lines)

    def set_strips(self, strips: StripMaker) -> None:
        """Use another theme."""
        self._strips = strips
        self.refresh()

    def redraw(self) -> None:
        """Draw the panel as it is now."""
        if not self.is_attached or not self.size.width:
            return
        before, self._lines = self._lines, self._draw(self.size.width)
        if len(before) != len(self._lines):
            self.refresh(layout=True)
        elif before != self._lines:
            self.refresh()

    def _draw(self, width: int) -> Sequence[Line]:
        return self.panel.lines(width, max(1, self.room()))

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        self._lines = self._draw(width)
        return len(self._lines)

    def render_line(self, y: int) -> Strip:
        return self._strips.strip(self._lines[y] if y < len(self._lines) else BLANK, self.size.width)

    def on_resize(self, event: events.Resize) -> None:
        self.redraw()

    def on_key(self, event: events.Key) -> None:
        if self.panel.handle(key_of(event)):
            event.stop()
            event.prevent_default()
            self.redraw()

    def on_paste(self, event: events.Paste) -> None:
        event.stop()
        self.panel.paste(event.text)
        self.redraw()
