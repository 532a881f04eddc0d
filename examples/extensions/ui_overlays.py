"""/overlays shows where a window can float: Space goes to the next place, + and - change its width, h hides it for a
second, Escape ends it. It gives way where there are less than 40 columns."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from piolet.ext import CommandContext, ExtensionAPI, Key, Keymap, OverlayHandle, Tui, UiTheme

ANCHORS = (
    *("top-left", "top-center", "top-right"),
    *("left-center", "center", "right-center"),
    *("bottom-left", "bottom-center", "bottom-right"),
)


class Window:
    """Tells where it stands. `hide()` is called when it shall go for a while, `done(None)` when it shall end."""

    def __init__(self, theme: UiTheme, hide: Callable[[], object], done: Callable[[None], None]) -> None:
        self.theme, self.hide, self.done = theme, hide, done
        self.place, self.share = 0, 30

    def options(self) -> Mapping[str, Any]:
        return {
            "anchor": ANCHORS[self.place],
            "width": f"{self.share}%",
            "min_width": 20,
            "max_height": "50%",
            "margin": 1,
            "visible": lambda columns, rows: columns >= 40,
        }

    def handle_input(self, key: Key) -> bool:
        if key.name == "space":
            self.place = (self.place + 1) % len(ANCHORS)
        elif key.text in ("+", "-"):
            self.share = max(10, min(100, self.share + (10 if key.text == "+" else -10)))
        elif key.text == "h":
            self.hide()
        elif key.name == "escape":
            self.done(None)
        return True

    def render(self, width: int) -> list[str]:
        rows = (f"[{ANCHORS[self.place]}]", f" {self.share}%, {width} columns")
        return [self.theme.bg("customMessageBg", row[:width].ljust(width)) for row in rows]


def extension(pi: ExtensionAPI) -> None:
    @pi.command("overlays")
    async def overlays(args: str, ctx: CommandContext) -> None:
        """Show where windows can float."""
        handles: list[OverlayHandle] = []

        async def hide() -> None:
            handles[0].set_hidden(True)
            await asyncio.sleep(1)
            handles[0].set_hidden(False)

        window: Window | None = None

        def make(tui: Tui, theme: UiTheme, keybindings: Keymap, done: Callable[[None], None]) -> Window:
            nonlocal window
            window = Window(theme, lambda: pi.spawn(hide()), done)
            return window

        def options() -> Mapping[str, Any]:
            return window.options() if window else {}

        await ctx.ui.custom(make, overlay=True, overlay_options=options, on_handle=handles.append)
