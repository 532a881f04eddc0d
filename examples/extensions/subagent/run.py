"""One sub-agent at work: a piolet in JSON mode, read event by event."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from piolet.ext import AbortSignal

from .agents import Agent

#: Bytes that one event may have.
LONGEST = 64 * 1024 * 1024


@dataclass
class Run:
    """A task, and how far its agent is. `state`: waiting, running, done, failed or stopped."""

    agent: str
    task: str
    state: str = "waiting"
    answer: str = ""
    error: str = ""
    turns: int = 0
    calls: int = 0
    tokens: int = 0
    cost: float = 0.0
    doing: str = ""

    @property
    def line(self) -> str:
        more = f", {self.doing}" if self.state == "running" and self.doing else ""
        return f"{self.agent}: {self.state} ({self.turns} turns, {self.calls} calls{more})"


async def run_agent(
    run: Run, agent: Agent, *, model: str | None, cwd: str, signal: AbortSignal, tell: Callable[[], None]
) -> None:
    """Let `agent` work on the task of `run`; `tell` is called when there is something new."""
    command = [sys.executable, "-m", "piolet", "--mode", "json", "--no-session", "--no-extensions"]
    command += ["--model", model] if model else []
    command += ["--tools", agent.tools.replace(" ", "")] if agent.tools else []
    command += ["--append-system-prompt", agent.prompt] if agent.prompt else []
    process = await asyncio.create_subprocess_exec(
        *command,
        *("--", run.task),
        cwd=cwd,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        limit=LONGEST,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    errors = asyncio.create_task(process.stderr.read())

    def end() -> None:
        with suppress(ProcessLookupError):
            process.terminate()

    def stop() -> None:
        run.state = "stopped"
        end()

    run.state = "running"
    withdraw = signal.on_abort(stop)
    tell()
    try:
        async for line in process.stdout:
            take_in(run, json.loads(line))
            tell()
        await process.wait()
    finally:
        withdraw()
        end()
    if run.state == "stopped":
        run.error = "stopped"
    elif process.returncode or not run.answer:
        run.state, run.error = "failed", run.error or (await errors).decode("utf-8", "replace").strip() or "no answer"
    else:
        run.state = "done"
    await errors
    tell()


def take_in(run: Run, event: Mapping[str, Any]) -> None:
    """Note what an event of JSON mode tells."""
    match event.get("type"):
        case "tool_execution_start":
            run.calls += 1
            run.doing = str(event["toolName"])
        case "message_end" if event["message"]["role"] == "assistant":
            message = event["message"]
            run.turns += 1
            run.tokens += message["usage"]["totalTokens"]
            run.cost += message["usage"]["cost"]["total"]
            run.error = message.get("errorMessage", "")
            words = "".join(block["text"] for block in message["content"] if block["type"] == "text")
            run.answer = words or run.answer
        case _:
            pass
