"""/pick chooses a file of the repository in a window that floats over the conversation, and puts it into the prompt."""

from __future__ import annotations

from collections.abc import Callable

from piolet.ext import (
    CommandContext,
    ExtensionAPI,
    Item,
    Key,
    Keymap,
    OverlayOptions,
    SelectList,
    Tui,
    UiTheme,
    visible_width,
)


class Picker:
    """A list in a frame; what is typed narrows it down. `done(path)` is called with the choice, or with None."""

    def __init__(
        self, paths: list[str], theme: UiTheme, keybindings: Keymap, done: Callable[[str | None], None]
    ) -> None:
        self.paths, self.theme, self.typed = paths, theme, ""
        self.list: SelectList[str] = SelectList(
            [], on_select=done, on_cancel=lambda: done(None), theme=theme, keymap=keybindings, rows=8
        )
        self.narrow()

    def narrow(self) -> None:
        fitting = [path for path in self.paths if self.typed in path.lower()]
        self.list.list.show([Item(path, path) for path in fitting], 0)

    def handle_input(self, key: Key) -> bool:
        if key.name == "backspace":
            self.typed = self.typed[:-1]
        elif key.text and key.text.isprintable():
            self.typed += key.text.lower()
        else:
            return self.list.handle_input(key)
        self.narrow()
        return True

    def render(self, width: int) -> list[str]:
        edge, line = self.theme.fg("borderAccent", "│"), "─" * (width - 2)
        rows = [f"> {self.typed}", *(self.list.render(width - 4) or [self.theme.fg("muted", "nothing fits")])]
        body = [f"{edge} {row}{' ' * (width - 4 - visible_width(row))} {edge}" for row in rows]
        return [self.theme.fg("borderAccent", f"╭{line}╮"), *body, self.theme.fg("borderAccent", f"╰{line}╯")]


def extension(pi: ExtensionAPI) -> None:
    @pi.command("pick")
    async def pick(args: str, ctx: CommandContext) -> None:
        """Choose a file of the repository."""
        listed = await pi.exec("git", ["ls-files"], cwd=ctx.cwd)
        if not listed.stdout:
            ctx.ui.notify("There are no files under git here", "warning")
            return
        paths = listed.stdout.splitlines()

        def make(tui: Tui, theme: UiTheme, keybindings: Keymap, done: Callable[[str | None], None]) -> Picker:
            return Picker(paths, theme, keybindings, done)

        options = OverlayOptions(width="60%", min_width=30, height=11, offset_y=-2)
        path = await ctx.ui.custom(make, overlay=True, overlay_options=options)
        if path is not None:
            ctx.ui.paste_to_editor(f"@{path} ")
