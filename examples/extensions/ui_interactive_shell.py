"""Programs that want the whole terminal get it: !vim notes.md, !git rebase -i, or any other as !i COMMAND."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Callable

from piolet.ext import BashResult, ExtensionAPI, ExtensionContext, Text, Tui, UserBash, UserBashResult

PROGRAMS = {"vi", "vim", "nvim", "nano", "emacs", "less", "more", "man", "top", "htop", "btop", "fzf", "tig", "lazygit"}


def interactive(command: str) -> str | None:
    """Return what is to run on the terminal; None: nothing."""
    try:
        words = shlex.split(command)
    except ValueError:
        return None
    if words[:1] == ["i"]:
        return command.strip().removeprefix("i").strip()
    rebase = words[:2] == ["git", "rebase"] and ("-i" in words or "--interactive" in words)
    return command if rebase or (words and words[0] in PROGRAMS) else None


def extension(pi: ExtensionAPI) -> None:
    @pi.on("user_bash")
    async def run(event: UserBash, ctx: ExtensionContext) -> UserBashResult | None:
        command = interactive(event.command)
        if not command or ctx.mode != "tui":
            return None

        async def lend(tui: Tui, theme: object, keybindings: object, done: Callable[[int], None]) -> Text:
            tui.stop()
            try:
                process = await asyncio.create_subprocess_shell(command, cwd=event.cwd)
                done(await process.wait())
            finally:
                tui.start()
            return Text()

        code = await ctx.ui.custom(lend)
        return UserBashResult(result=BashResult("(it ran on the terminal)", exit_code=code))
