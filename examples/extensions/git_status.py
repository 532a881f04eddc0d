"""Tells the model about the working tree at the start of each run.

piolet -e examples/extensions/git_status.py
"""

from __future__ import annotations

from piolet.ext import BeforeAgentStart, CustomMessageDraft, ExtensionAPI, ExtensionContext, StartResult

#: Characters of the status that the model gets.
MOST = 4000


def extension(pi: ExtensionAPI) -> None:
    @pi.on("before_agent_start")
    async def add_status(event: BeforeAgentStart, ctx: ExtensionContext) -> StartResult | None:
        done = await pi.exec("git", ["status", "--short", "--branch"], cwd=ctx.cwd, timeout=10)
        if done.code != 0:
            return None
        text = f"Working tree:\n{done.stdout[:MOST]}"
        return StartResult(message=CustomMessageDraft("git-status", text, display=False))
