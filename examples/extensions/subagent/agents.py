"""The agents that there are: Markdown files with front matter."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from piolet.ext import get_agent_dir, parse_frontmatter


@dataclass(frozen=True)
class Agent:
    """`prompt` is added to the system prompt. Without `tools` it has the usual ones, without `model` the caller's."""

    name: str
    description: str
    prompt: str = ""
    tools: str | None = None
    model: str | None = None


WORKER = Agent("worker", "Does what it is told, with the usual tools")


def find_agents(cwd: str, *, project: bool) -> dict[str, Agent]:
    """Return the agents by name; with `project` those of the project too, which go before the user's."""
    folders = [Path(get_agent_dir(), "agents"), *([Path(cwd, ".pi", "agents")] if project else [])]
    found = {agent.name: agent for folder in folders for agent in read_agents(folder)}
    return found or {WORKER.name: WORKER}


def read_agents(folder: Path) -> Iterator[Agent]:
    for path in sorted(folder.glob("*.md")):
        fields, body = parse_frontmatter(path.read_text(encoding="utf-8"))
        name, tools, model = fields.get("name", path.stem), fields.get("tools"), fields.get("model")
        yield Agent(str(name), str(fields.get("description", "")), body, tools and str(tools), model and str(model))
