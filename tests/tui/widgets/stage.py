"""A stage on which a widget can be shown alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual.app import App, ComposeResult
from textual.message import Message
from textual.widget import Widget

from piolet.tui.theme_builtin import built_in_theme
from piolet.tui.widgets.strips import StripMaker

DARK = built_in_theme("dark")


def strips() -> StripMaker:
    return StripMaker(DARK.colors)


class Stage(App[None]):
    """Shows widgets below each other, and remembers the messages that reach it."""

    CSS = """
    Screen { background: ansi_default; color: ansi_default; layout: vertical; }
    """
    ENABLE_COMMAND_PALETTE = False

    def __init__(self, widgets: Callable[[], Sequence[Widget]]) -> None:
        super().__init__(ansi_color=True)
        self._make = widgets
        self.seen: list[Message] = []

    def compose(self) -> ComposeResult:
        yield from self._make()

    def text(self) -> list[str]:
        """Return the rows of the screen."""
        return [strip.text.rstrip() for strip in self.screen._compositor.render_strips()]

    def on_transcript_view_clicked(self, message: Message) -> None:
        self.seen.append(message)

    def on_transcript_view_selected(self, message: Message) -> None:
        self.seen.append(message)

    def on_editor_area_submitted(self, message: Message) -> None:
        self.seen.append(message)

    def on_editor_area_changed(self, message: Message) -> None:
        self.seen.append(message)
