"""Replaces the tool `read`: secrets stay unread, and every read is noted in the session.

piolet -e examples/extensions/tool_override.py
"""

from __future__ import annotations

import re
from typing import Any

from piolet.ext import (
    AbortSignal,
    ExtensionAPI,
    ExtensionContext,
    OnUpdate,
    SessionStart,
    ToolContext,
    ToolResult,
    create_read_tool,
)

SECRET = re.compile(r"(^|/)(\.env(\..*)?|id_[a-z0-9]+|.*\.(pem|key)|\.ssh/.*|credentials.*)$")


def extension(pi: ExtensionAPI) -> None:
    @pi.on("session_start")
    def start(event: SessionStart, ctx: ExtensionContext) -> None:
        built_in = create_read_tool(ctx.environment)

        async def read(
            call_id: str, args: dict[str, Any], signal: AbortSignal, on_update: OnUpdate, ctx: ToolContext
        ) -> ToolResult:
            path = await ctx.environment.canonical(await ctx.environment.resolve(str(args["path"])))
            allowed = SECRET.search(path) is None
            pi.append_entry("read-log", {"path": path, "allowed": allowed})
            if not allowed:
                raise PermissionError(f"{args['path']} may hold secrets and is not read.")
            return await built_in.execute(call_id, args, signal, on_update, ctx)

        pi.register_tool(built_in, execute=read, prompt_guidelines=["Files with secrets cannot be read; do not try"])
