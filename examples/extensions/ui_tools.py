"""/tools switches the tools of the model on and off; the choice belongs to the branch of the conversation."""

from __future__ import annotations

from collections.abc import Callable

from piolet.ext import (
    CommandContext,
    CustomEntry,
    ExtensionAPI,
    ExtensionContext,
    Keymap,
    SessionStart,
    SessionTree,
    Setting,
    SettingsList,
    Tui,
    UiTheme,
)


def extension(pi: ExtensionAPI) -> None:
    def restore(event: SessionStart | SessionTree, ctx: ExtensionContext) -> None:
        chosen = [entry for entry in ctx.session_manager.get_branch() if isinstance(entry, CustomEntry)]
        names = next((entry.data for entry in reversed(chosen) if entry.custom_type == "tools"), None)
        if names is not None:
            pi.set_active_tools(names)

    pi.on("session_start", restore)
    pi.on("session_tree", restore)

    @pi.command("tools")
    async def tools(args: str, ctx: CommandContext) -> None:
        """Switch tools on and off."""
        active = set(pi.get_active_tools())
        settings = [
            Setting(tool.name, tool.name, "on" if tool.name in active else "off", ("on", "off"), tool.description)
            for tool in pi.get_all_tools()
        ]

        def change(name: str, value: str) -> None:
            (active.add if value == "on" else active.discard)(name)

        def make(tui: Tui, theme: UiTheme, keybindings: Keymap, done: Callable[[bool], None]) -> SettingsList:
            return SettingsList(settings, change, on_cancel=lambda: done(True), theme=theme, keymap=keybindings)

        if await ctx.ui.custom(make):
            names = [setting.key for setting in settings if setting.key in active]
            pi.set_active_tools(names)
            pi.append_entry("tools", names)
            ctx.ui.notify(f"Tools: {', '.join(names) or 'none'}")
