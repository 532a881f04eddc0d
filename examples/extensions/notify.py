"""Tells you when the agent has finished: a desktop notification, or a command of yours.

piolet -e examples/extensions/notify.py [--notify-command ./ring.sh] [--notify-after 10]
"""

from __future__ import annotations

import time

from piolet.ext import AgentSettled, AgentStart, ExtensionAPI, ExtensionContext


def extension(pi: ExtensionAPI) -> None:
    pi.register_flag("notify-command", type="string", description="command to run with the text as argument")
    pi.register_flag("notify-after", type="string", default="10", description="seconds that a run must have taken")
    started = time.monotonic()

    @pi.on("agent_start")
    def start(event: AgentStart, ctx: ExtensionContext) -> None:
        nonlocal started
        started = time.monotonic()

    @pi.on("agent_settled")
    async def settled(event: AgentSettled, ctx: ExtensionContext) -> None:
        if time.monotonic() - started < float(pi.get_flag("notify-after") or 0):
            return
        title = pi.get_session_name() or "piolet"
        words = "was stopped" if event.aborted else "is done"
        command = pi.get_flag("notify-command")
        program, args = (str(command), [f"{title} {words}"]) if command else ("notify-send", [title, words])
        done = await pi.exec(program, args, cwd=ctx.cwd, timeout=10)
        if done.code != 0:
            ctx.ui.notify(f"{title} {words}")
