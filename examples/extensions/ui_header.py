"""The head of the transcript shows a mountain in place of logo and keys."""

from __future__ import annotations

from typing import Any

from piolet.ext import ExtensionAPI, ExtensionContext, UiTheme

MOUNTAIN = ("    /\\    ", " /\\/  \\/\\ ", "/        \\")


class Header:
    def __init__(self, tui: Any, theme: UiTheme) -> None:
        self.theme = theme

    def render(self, width: int) -> list[str]:
        return [self.theme.fg("accent", row[:width].center(min(width, 40))) for row in MOUNTAIN]


def extension(pi: ExtensionAPI) -> None:
    @pi.on("session_start")
    def start(event: Any, ctx: ExtensionContext) -> None:
        ctx.ui.set_header(Header)
