"""Sub-agents: tasks that other agents work on, at the same time, each with a context of its own.

    piolet -e examples/extensions/subagent
    > Use subagents: one finds where settings are read, one where they are documented.

An agent is a Markdown file in ~/.pi/agent/agents (or, in a trusted project, .pi/agents):

    ---
    name: scout
    description: Finds things quickly
    tools: read, grep, find, ls
    model: anthropic/claude-haiku-5-5
    ---
    You look for what you are asked and answer with paths and line numbers.

Without agents there is one, `worker`, which works like the main one. Each runs in a program of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated, Any, TypedDict

from piolet.ext import AbortSignal, ExtensionAPI, OnUpdate, ToolContext, ToolResult, text

from .agents import Agent, find_agents
from .run import Run, run_agent

#: Agents that work at the same time, and tasks of one call.
AT_ONCE, MOST = 4, 8


class Task(TypedDict):
    agent: str
    task: str


def extension(pi: ExtensionAPI) -> None:
    @pi.tool(label="Subagents", prompt_snippet="give tasks to agents that work on their own, at the same time")
    async def subagent(
        tasks: Annotated[list[Task], "what to do; each agent sees its own task only"],
        ctx: ToolContext,
        signal: AbortSignal,
        on_update: OnUpdate,
    ) -> ToolResult:
        """Give tasks to agents, which work at the same time, each with a context of its own.

        Each task has to say everything that its agent needs. The answer holds what each of them found.
        """
        agents = find_agents(ctx.session_manager.get_cwd(), project=ctx.is_project_trusted())
        if not tasks or len(tasks) > MOST:
            raise ValueError(f"Give between 1 and {MOST} tasks")
        unknown = [task["agent"] for task in tasks if task["agent"] not in agents]
        if unknown:
            raise ValueError(f"There is no agent {unknown[0]}; there are: {', '.join(agents)}")
        runs = [Run(task["agent"], task["task"]) for task in tasks]
        model = f"{ctx.model.provider}/{ctx.model.id}" if ctx.model else None

        def tell() -> None:
            on_update(ToolResult([text("\n".join(run.line for run in runs))], details=details(runs)))

        slots = asyncio.Semaphore(AT_ONCE)

        async def work(run: Run, agent: Agent) -> None:
            async with slots:
                await run_agent(run, agent, model=agent.model or model, cwd=ctx.cwd, signal=signal, tell=tell)

        await asyncio.gather(*(work(run, agents[run.agent]) for run in runs))
        words = "\n\n".join(f"## {run.agent}: {run.state}\n\n{run.answer or run.error}" for run in runs)
        failed = all(run.state == "failed" for run in runs)
        return ToolResult([text(words)], details=details(runs), is_error=failed)

    @pi.command("agents")
    def agents(args: str, ctx: Any) -> None:
        """List the agents."""
        found = find_agents(ctx.session_manager.get_cwd(), project=ctx.is_project_trusted())
        ctx.ui.notify("\n".join(f"{agent.name}: {agent.description}" for agent in found.values()))


def details(runs: Sequence[Run]) -> dict[str, Any]:
    fields = ("agent", "task", "state", "answer", "error", "turns", "calls", "tokens", "cost")
    return {"runs": [{name: getattr(run, name) for name in fields} for run in runs]}
