"""While the model works, a bouncing ball tells so; hidden thinking is called pondering."""

from __future__ import annotations

from typing import Any

from piolet.ext import ExtensionAPI, ExtensionContext

WIDTH = 5
FRAMES = [f"({' ' * at}●{' ' * (WIDTH - at)})" for at in [*range(WIDTH), *range(WIDTH, 0, -1)]]


def extension(pi: ExtensionAPI) -> None:
    @pi.on("session_start")
    def start(event: Any, ctx: ExtensionContext) -> None:
        ctx.ui.set_working_indicator(FRAMES, 0.12)
        ctx.ui.set_hidden_thinking_label("Pondering...")

    @pi.on("turn_start")
    def turn(event: Any, ctx: ExtensionContext) -> None:
        ctx.ui.set_working_message(f"Turn {event.turn_index + 1}")
