"""A component that floats over the rest of the screen."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual.geometry import Offset
from textual.strip import Strip
from textual.widget import Widget

from piolet.tui.overlay import OverlayOptions, columns_of, place, rows_around
from piolet.tui.panels.panel import Panel
from piolet.tui.spans import BLANK, Line
from piolet.tui.widgets.strips import StripMaker


class OverlayView(Widget):
    """Shows `panel` where `options()` says, within the last `canvas()` rows of the screen."""

    DEFAULT_CSS = """
    OverlayView { layer: overlay; position: absolute; }
    """
    ALLOW_SELECT = False
    can_focus = False

    def __init__(
        self,
        panel: Panel,
        options: Callable[[], OverlayOptions],
        canvas: Callable[[], int],
        strips: StripMaker,
    ) -> None:
        super().__init__()
        self.auto_links = False
        self.panel = panel
        self.hidden = False
        self.has_keys = False
        self._options = options
        self._canvas = canvas
        self._strips = strips
        self._lines: Sequence[Line] = ()

    def set_strips(self, strips: StripMaker) -> None:
        """Use another theme."""
        self._strips = strips
        self.refresh()

    @property
    def shown(self) -> bool:
        """Whether it is to be seen on a screen of the present size."""
        visible = self._options().visible
        return not self.hidden and (visible is None or bool(visible(*self.app.size)))

    @property
    def rows(self) -> int:
        """The rows that it takes of the screen, with those that are left free around it."""
        if not self.shown:
            return 0
        options = self._options()
        return place(options, self.app.size, len(self._lines)).height + rows_around(options.margin)

    def draw(self) -> None:
        """Ask for the lines, whose number may say how tall it is."""
        columns, rows = self.app.size
        self._lines = self.panel.lines(columns_of(self._options(), columns), rows) if self.shown else ()

    def put(self) -> None:
        """Stand where it belongs on the present screen."""
        self.display = self.shown
        if self.display:
            x, y, width, height = place(self._options(), self.app.size, len(self._lines), self._canvas())
            self.styles.width, self.styles.height = width, height
            self.styles.offset = Offset(x, y)
        self.refresh()

    def render_line(self, y: int) -> Strip:
        return self._strips.strip(self._lines[y] if y < len(self._lines) else BLANK, self.size.width)
