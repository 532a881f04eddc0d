"""/summarize shows in a window what the conversation has come to; the conversation itself does not hear of it."""

from __future__ import annotations

from collections.abc import Callable

from piolet.ext import (
    Box,
    CommandContext,
    ExtensionAPI,
    Key,
    Keymap,
    Markdown,
    Tui,
    UiTheme,
    conversation_text,
    text_of,
)

ASK = "Summarize this conversation in at most ten lines of markdown: what was asked, what was done, what is open.\n\n"


class Window(Box):
    """Shows a text until a key is pressed."""

    def __init__(self, text: str, theme: UiTheme, done: Callable[[None], None]) -> None:
        parts = (Markdown(f"# Summary\n\n{text}\n\n*Any key closes this.*", theme),)
        super().__init__(parts, theme=theme, background="customMessageBg")
        self.done = done

    def handle_input(self, key: Key) -> bool:
        self.done(None)
        return True


def extension(pi: ExtensionAPI) -> None:
    @pi.command("summarize")
    async def summarize(args: str, ctx: CommandContext) -> None:
        """Show a summary of the conversation."""
        messages = ctx.session_manager.build_session_context().messages
        if not messages or ctx.model is None:
            ctx.ui.notify("There is nothing to summarize yet", "warning")
            return
        ctx.ui.set_status("summarize", "summarizing")
        try:
            answer = await ctx.model_registry.complete(ctx.model, ASK + conversation_text(messages))
        finally:
            ctx.ui.set_status("summarize", None)
        text = text_of(answer.content)

        def make(tui: Tui, theme: UiTheme, keybindings: Keymap, done: Callable[[None], None]) -> Window:
            return Window(text, theme, done)

        if ctx.mode == "tui":
            await ctx.ui.custom(make, overlay=True, overlay_options={"width": "80%"})
        else:
            ctx.ui.notify(text)
