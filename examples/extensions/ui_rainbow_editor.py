"""/rainbow: the word rainbow shines in the editor, and its colours wander for those who do not mind."""

from __future__ import annotations

import asyncio
from typing import Any

from piolet.ext import CommandContext, CustomEditor, ExtensionAPI, Keymap, Tui, UiTheme

WORD, SECONDS = "rainbow", 0.15
COLORS = ("error", "warning", "success", "accent", "borderAccent", "customMessageLabel")


class RainbowEditor(CustomEditor):
    shift = 0

    def render(self, width: int) -> list[str]:
        letters = (self.theme.fg(COLORS[(n + self.shift) % len(COLORS)], letter) for n, letter in enumerate(WORD))
        painted = "".join(letters)
        return [line.replace(WORD, painted) for line in super().render(width)]

    async def wander(self) -> None:
        """Move the colours on while the word is there."""
        while True:
            await asyncio.sleep(SECONDS)
            if self.tui.animated and WORD in self.tui.editor_text:
                self.shift += 1
                self.tui.request_render()


def extension(pi: ExtensionAPI) -> None:
    wandering: asyncio.Task[Any] | None = None

    def make(tui: Tui, theme: UiTheme, keybindings: Keymap) -> RainbowEditor:
        nonlocal wandering
        editor = RainbowEditor(tui, theme, keybindings)
        wandering = pi.spawn(editor.wander())
        return editor

    @pi.command("rainbow")
    def rainbow(args: str, ctx: CommandContext) -> None:
        """Let the word shine, or no more."""
        nonlocal wandering
        if wandering is not None:
            wandering.cancel()
            wandering = None
            ctx.ui.set_editor_component(None)
        else:
            ctx.ui.set_editor_component(make)
