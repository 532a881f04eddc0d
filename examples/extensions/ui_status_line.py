"""A line of the footer counts the turns of the session and tells whether the model is at work."""

from __future__ import annotations

from typing import Any

from piolet.ext import ExtensionAPI, ExtensionContext


def extension(pi: ExtensionAPI) -> None:
    turns = 0

    def show(ctx: ExtensionContext, state: str) -> None:
        theme = ctx.ui.theme
        ctx.ui.set_status("turns", theme.fg("dim", f"{state}, turns: ") + theme.fg("accent", str(turns)))

    @pi.on("session_start")
    def start(event: Any, ctx: ExtensionContext) -> None:
        show(ctx, "ready")

    @pi.on("turn_start")
    def turn(event: Any, ctx: ExtensionContext) -> None:
        nonlocal turns
        turns += 1
        show(ctx, "at work")

    @pi.on("agent_settled")
    def settled(event: Any, ctx: ExtensionContext) -> None:
        show(ctx, "ready")
