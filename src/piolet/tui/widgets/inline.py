"""Regular mode's dealings with the toolkit: the app lives below what was printed, on the terminal's main screen.

Everything that needs private members of the toolkit for this stands here (made for Textual 8).
"""

from __future__ import annotations

from typing import Any

from textual.app import App
from textual.geometry import Offset

from piolet.tui.widgets.driver import TerminalDriver

_ALTERNATE_SCREEN = ("\x1b[?1049h", "\x1b[?1049l")
_WHERE = "\x1b[6n"
_HOLD = "\x1b[?2026h"  # until the toolkit's next update is over


class InlineDriver(TerminalDriver):
    """Draws on the main screen. The app is run without mouse: the wheel and selecting are the terminal's own."""

    @property
    def is_inline(self) -> bool:
        return True

    def write(self, data: str) -> None:
        """Write; the alternate screen stays off, and where the cursor is nobody asks: the answer looks like a key."""
        if data not in _ALTERNATE_SCREEN:
            super().write(data.replace(_WHERE, ""))

    def stop_application_mode(self) -> None:
        self.write("\r\x1b[J")
        super().stop_application_mode()

    def restore_now(self) -> None:
        if self._active:
            print_above(self._app, "")
        super().restore_now()


def print_above(app: App[Any], text: str) -> None:
    """Put `text` (whole lines) above the app, for good; the app is drawn again below it."""
    driver = app._driver
    if driver is None or app.is_headless:
        return
    hold = _HOLD if app._sync_available and text else ""
    up = app._previous_cursor_position.y
    driver.write(f"{hold}\r" + (f"\x1b[{up}A" if up else "") + "\x1b[J" + text.replace("\n", "\r\n"))
    app._previous_cursor_position = Offset(0, 0)
    if text:
        app.screen.refresh(layout=True)
