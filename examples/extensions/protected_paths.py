"""Files that tools may not change, wherever the tools act and whatever links lead there.

piolet -e examples/extensions/protected_paths.py
"""

from __future__ import annotations

from piolet.ext import ExtensionAPI, ExtensionContext, ToolCallEvent, ToolCallResult

NEVER = (".git", ".env", "node_modules", ".venv")


def extension(pi: ExtensionAPI) -> None:
    @pi.on("tool_call")
    async def check(event: ToolCallEvent, ctx: ExtensionContext) -> ToolCallResult | None:
        if event.tool_name not in ("write", "edit"):
            return None
        given = str(event.input.get("path", ""))
        resolved = await ctx.environment.resolve(given)
        real = await ctx.environment.canonical(resolved)
        parts = {*resolved.split("/"), *real.split("/")}
        hit = next((name for name in NEVER if name in parts), None)
        if hit is None:
            return None
        ctx.ui.notify(f"Blocked a change to {given}", "warning")
        return ToolCallResult(block=True, reason=f"{hit} is protected: leave {given} as it is.")
