"""Dangerous shell commands need a yes; where nobody can say it they are refused.

piolet -e examples/extensions/permission_gate.py [--yolo]
"""

from __future__ import annotations

import re

from piolet.ext import ExtensionAPI, ExtensionContext, ToolCallEvent, ToolCallResult

RISKY = re.compile(
    r"\brm\s+(-\w*[rf]|--recursive|--force)|\bsudo\b|\bmkfs\b|\bdd\s+.*\bof=/dev/|>\s*/dev/sd"
    r"|\bgit\s+(push\s+.*--force|reset\s+--hard|clean\s+-\w*f)|\bchmod\s+-R\s+777\b|\bcurl\b.*\|\s*(ba)?sh\b"
)


def extension(pi: ExtensionAPI) -> None:
    pi.register_flag("yolo", type="boolean", default=False, description="do not ask about risky commands")

    @pi.on("tool_call")
    async def gate(event: ToolCallEvent, ctx: ExtensionContext) -> ToolCallResult | None:
        command = str(event.input.get("command", "")) if event.tool_name == "bash" else ""
        if pi.get_flag("yolo") or not RISKY.search(command):
            return None
        if not ctx.has_ui:
            return ToolCallResult(block=True, reason="This command is risky, and nobody is here to allow it.")
        allowed = await ctx.ui.confirm("Run this command?", command, timeout=60, signal=ctx.signal)
        return None if allowed else ToolCallResult(block=True, reason="The user refused this command.")
