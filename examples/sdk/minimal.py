"""The least that works: a model, a folder, the built-in tools, one question.

python minimal.py anthropic/claude-opus-5-5 "What does this project do?"
"""

import asyncio
import sys
from pathlib import Path

from piolet.harness import AgentHarness, LocalEnvironment, Session, built_in_tools
from piolet.llm import Models


async def main(model_name: str, question: str) -> None:
    models = Models.open(Path.home() / ".pi" / "agent")  # keys from the environment, auth.json, models.json
    model = models.find(*model_name.split("/", 1))
    if model is None:
        raise SystemExit(f"There is no model {model_name}")
    environment = LocalEnvironment(str(Path.cwd()))
    harness = AgentHarness(
        models=models,
        model=model,
        environment=environment,
        session=Session.in_memory(environment.cwd),
        tools=list(built_in_tools(environment).values()),
        active_tools=["read", "bash"],
    )
    result = await harness.prompt(question)
    print(result.text if result.outcome == "completed" else f"failed: {result.final and result.final.error_message}")
    await harness.close()
    await models.aclose()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:3]))
