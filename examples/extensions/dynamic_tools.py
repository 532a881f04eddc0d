"""Tools that come at run time: one when the session starts, others by command.

piolet -e examples/extensions/dynamic_tools.py
/add-tool shout
"""

from __future__ import annotations

import re

from piolet.ext import CommandContext, ExtensionAPI, ExtensionContext, SessionStart


def extension(pi: ExtensionAPI) -> None:
    def add(name: str, prefix: str) -> None:
        @pi.tool(name=name, label=name, description=f"Return a text with {prefix!r} in front.")
        def echo(message: str) -> str:
            return f"{prefix}{message}"

    @pi.on("session_start")
    def start(event: SessionStart, ctx: ExtensionContext) -> None:
        add("echo_session", "session: ")

    @pi.command("add-tool")
    async def add_tool(args: str, ctx: CommandContext) -> None:
        """Add a tool of that name, which the model can use from its next request on."""
        name = args.strip()
        if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
            ctx.ui.notify("A tool's name has small letters, digits and underscores.", "warning")
            return
        if name in (tool.name for tool in pi.get_all_tools()):
            ctx.ui.notify(f"There is a tool {name} already.", "warning")
            return
        add(name, f"{name}: ")
        ctx.ui.notify(f"Added the tool {name}.")
