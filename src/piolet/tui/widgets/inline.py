"""Regular mode's dealings with the toolkit: the app lives below what was printed, on the terminal's main screen.

Everything that needs private members of the toolkit for this stands here (made for Textual 8).
"""

from __future__ import annotations

import os
from collections.abc import Container
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

from rich.console import Console, RenderableType
from textual._compositor import ChopsUpdate, CompositorUpdate, InlineUpdate, LayoutUpdate
from textual.app import App
from textual.geometry import Offset
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget

from piolet.tui.inline_rows import InlineRow, InlineRows
from piolet.tui.widgets.driver import TerminalDriver

if TYPE_CHECKING:
    from rich.segment import Segment
    from textual.geometry import Size

_ALTERNATE_SCREEN = ("\x1b[?1049h", "\x1b[?1049l")


class InlineDriver(TerminalDriver):
    """Draws on a screen of its own, or on the main screen while its app is `regular`: then without mouse, since the
    wheel and selecting are the terminal's own."""

    _app: InlineApp

    @property
    def is_inline(self) -> bool:
        return self._app.regular

    @property
    def size_now(self) -> tuple[int, int]:
        """Columns and rows of the terminal now, even if the app has not heard of it yet."""
        return self._get_terminal_size()

    def write(self, data: str) -> None:
        if not self.is_inline or data not in _ALTERNATE_SCREEN:
            super().write(data)

    def _enable_mouse_support(self) -> None:
        if not self.is_inline:
            super()._enable_mouse_support()

    def on_resized(self) -> None:
        self._app.inline.forget()
        super().on_resized()

    def stop_application_mode(self) -> None:
        self.write(self._app.inline.erase() if self.is_inline else self._app.erase_over())
        super().stop_application_mode()

    def restore_now(self) -> None:
        if self._active:
            erased = self._app.inline.erase() if self.is_inline else self._app.erase_over()
            with suppress(OSError):
                os.write(self._screen_fd, erased.encode())
        super().restore_now()


class InlineApp(App[int], inherit_bindings=False):
    """An app that has a screen of its own or, while `regular`, the last rows of the terminal's main screen, where it
    writes only rows that differ and can put lines above itself."""

    def __init__(self, *, regular: bool, **options: Any) -> None:
        super().__init__(**options)
        self.regular = regular
        self.inline = InlineRows()
        #: The terminal's cursor is seen. Else it stands in the first row, whatever the terminal does with the rows.
        self.cursor_shown = False

    def set_regular(self, regular: bool) -> None:
        """Go to the other screen of the terminal."""
        driver = self._driver
        if driver is not None and driver.can_suspend:
            driver.suspend_application_mode()
            self.regular = regular
            driver.resume_application_mode()
        self.regular = regular
        self._previous_cursor_position = Offset()  # the toolkit goes up from there on leaving, as if it drew inline
        self.refresh_css(animate=False)
        self.refresh(layout=True)

    def print_above(self, text: str) -> None:
        """Put `text` (whole lines) above the app, for good, when it is drawn next."""
        self.inline.put_above(text)

    def paint_over(self, written: Container[int]) -> str:
        """Return what is drawn over the cells of a screen of its own when those of the rows `written` were written."""
        return ""

    def erase_over(self) -> str:
        """Return what takes away what is drawn over the cells."""
        return ""

    def _display(self, screen: Screen[Any], renderable: RenderableType | None) -> None:
        driver = self._driver
        if not isinstance(driver, InlineDriver):
            super()._display(screen, renderable)
            return
        if self._batch_count or self._closed or not self._running:
            return
        if not isinstance(renderable, InlineUpdate):
            if isinstance(renderable, LayoutUpdate | ChopsUpdate) and (over := self.paint_over(_rows_of(renderable))):
                renderable = cast("RenderableType", _Painted(renderable, over))
            super()._display(screen, renderable)
            return
        columns, (columns_now, rows_now) = self.size.width, driver.size_now
        if columns_now != columns or rows_now < len(renderable.strips):  # the app will hear of it, and draw again
            return
        x, y = self.screen.outer_size.clamp_offset(self.cursor_position) if self.cursor_shown else (0, 0)
        rows = [_row(strip, self.console) for strip in renderable.strips]
        driver.write(self.inline.draw(rows, columns, (x, y)))
        driver.flush()


class InlineWidget(Widget):
    """A widget whose height may change without the toolkit laying out everything once more because of that."""

    def _size_updated(self, size: Size, virtual_size: Size, container_size: Size, layout: bool = True) -> bool:
        return super()._size_updated(size, virtual_size, container_size, layout=False)


class InlineScreen(InlineWidget, Screen[None], inherit_bindings=False):
    """A screen that is as tall as what is on it while the app is regular."""

    app: InlineApp

    def _compositor_refresh(self) -> None:
        """Draw what was laid out last: the toolkit would ask twice how tall that is."""
        if not self.app.is_inline:
            super()._compositor_refresh()
            return
        self.app._display(self, self._compositor.render_inline(self._compositor.size))
        self._dirty_widgets.clear()
        self._compositor._dirty_regions.clear()

    def _screen_resized(self, size: Size) -> None:
        if not self.app.regular or size != self._compositor.size:  # else it was laid out so just now
            super()._screen_resized(size)


class _Painted(CompositorUpdate):
    """An update, and what is drawn over it in the same breath."""

    def __init__(self, update: CompositorUpdate, over: str) -> None:
        self._update, self._over = update, over

    def render_segments(self, console: Console) -> str:
        return self._update.render_segments(console) + self._over


def _rows_of(update: LayoutUpdate | ChopsUpdate) -> Container[int]:
    """Return the rows of the screen in which an update writes."""
    if isinstance(update, LayoutUpdate):
        return range(update.region.y, update.region.bottom)
    return {y for y, _, _ in update.spans}


def _row(strip: Strip, console: Console) -> InlineRow:
    """Return a row without the blanks at its end that look like nothing."""
    segments = list(strip)
    while segments and _is_blank(segments[-1]):
        segments.pop()
    if segments and not _has_ground(segments[-1]):
        segments[-1] = segments[-1]._replace(text=segments[-1].text.rstrip(" "))
    shown = Strip(segments)
    return InlineRow(shown.render(console), shown.cell_length)


def _is_blank(segment: Segment) -> bool:
    return not segment.text.strip(" ") and not _has_ground(segment)


def _has_ground(segment: Segment) -> bool:
    style = segment.style
    if style is None:
        return False
    ground = style.bgcolor is not None and not style.bgcolor.is_default
    return ground or bool(style.reverse or style.underline or style.strike)
