"""What floats over the screen: which overlays there are, and which of them has the keys."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from textual.geometry import Region

from piolet.tui.overlay import OverlayOptions
from piolet.tui.panels.panel import Panel
from piolet.tui.widgets.overlay_view import OverlayView
from piolet.tui.widgets.strips import StripMaker

if TYPE_CHECKING:
    from piolet.modes.interactive.app import InteractiveApp


class Overlays:
    """Those of `app`, the last one on top."""

    def __init__(self, app: InteractiveApp) -> None:
        self._app = app
        self._views: list[OverlayView] = []

    def __bool__(self) -> bool:
        return bool(self._views)

    def push(self, panel: Panel, options: Callable[[], OverlayOptions]) -> OverlayView:
        """Show `panel` over everything."""
        view = OverlayView(panel, options, self._app.canvas_rows, self._app.strips)
        self._views.append(view)
        self._app.screen.mount(view)
        if options().focused:
            self.focus(view)
        self.redraw()
        return view

    def pop(self, view: OverlayView) -> None:
        """Take an overlay away."""
        if view in self._views:
            self._views.remove(view)
            if view.is_attached:
                view.remove()
            self.redraw()

    def focus(self, view: OverlayView) -> None:
        """Give an overlay the keys, and put it on top."""
        if view in self._views:
            self._views.remove(view)
            self._views.append(view)
        view.has_keys = True

    @property
    def panel(self) -> Panel | None:
        """What has the keys; None: what is beneath."""
        return next((view.panel for view in reversed(self._views) if view.has_keys and view.shown), None)

    @property
    def rows(self) -> int:
        """The rows that the tallest of them takes."""
        return max((view.rows for view in self._views), default=0)

    @property
    def regions(self) -> list[Region]:
        """Where on the screen those are that are to be seen."""
        return [view.region for view in self._views if view.shown]

    def set_strips(self, strips: StripMaker) -> None:
        """Use another theme."""
        for view in self._views:
            view.set_strips(strips)

    def redraw(self) -> None:
        """Draw them as they are now, where they belong now."""
        for view in self._views:
            view.draw()
        self._app.make_room()
        for view in self._views:
            view.put()
