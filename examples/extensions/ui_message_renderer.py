"""/remind puts a note into the conversation, which the model reads and the screen shows in a frame of its own."""

from __future__ import annotations

from typing import Any

from piolet.ext import Box, CommandContext, Component, CustomMessageDraft, ExtensionAPI, Text, UiTheme, text_of


def draw(message: Any, options: Any, theme: UiTheme) -> Component:
    head = theme.bold(theme.fg("warning", "REMINDER"))
    return Box([Text(f"{head} {text_of(message.content)}")], theme=theme, background="customMessageBg", padding_y=0)


def extension(pi: ExtensionAPI) -> None:
    pi.register_message_renderer("reminder", draw)

    @pi.command("remind")
    def remind(args: str, ctx: CommandContext) -> None:
        """Remind the model of something."""
        pi.send_message(CustomMessageDraft("reminder", args or "Keep it short."))
