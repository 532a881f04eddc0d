"""A program for a terminal: shows what it is told, one name a row. ``q`` ends it, so does a terminal that is gone."""

from __future__ import annotations

import os

from textual import events
from textual.app import App, ComposeResult

from piolet.tui.spans import Line, row
from piolet.tui.widgets.driver import TerminalDriver, TerminalGone, TerminalReport
from piolet.tui.widgets.key_events import key_of
from piolet.tui.widgets.lines_view import LinesView
from piolet.tui.widgets.strips import StripMaker


class KeysApp(App[None]):
    CSS = "Screen { background: ansi_default; }"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS = []  # noqa: RUF012

    def __init__(self) -> None:
        super().__init__(driver_class=TerminalDriver, ansi_color=True)
        self.said: list[Line] = [row("ready")]

    def compose(self) -> ComposeResult:
        yield LinesView(lambda width: self.said, StripMaker({}))

    def say(self, text: str) -> None:
        self.said = [*self.said, row(text)]
        self.query_one(LinesView).redraw()

    async def on_event(self, event: events.Event) -> None:
        if isinstance(event, events.Key):
            self.say(f"key {key_of(event).name}")
            if event.key == "q":
                self.exit()
            return
        if isinstance(event, events.Paste):
            self.say(f"paste {event.text!r}")
        elif isinstance(event, events.MouseDown):
            self.say(f"mouse {event.x},{event.y}")
        await super().on_event(event)

    def on_terminal_report(self, message: TerminalReport) -> None:
        self.say(f"report {message.sequence!r}")

    def on_terminal_gone(self, message: TerminalGone) -> None:
        self.exit(return_code=129)


if __name__ == "__main__":
    app = KeysApp()
    app.run()
    os._exit(app.return_code or 0)  # nothing can be flushed to a terminal that is gone
