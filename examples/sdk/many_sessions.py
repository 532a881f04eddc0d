"""Many conversations at once in one process: each has a harness of its own, all share models and connections.

python many_sessions.py PROVIDER/MODEL 20
"""

import asyncio
import sys
from pathlib import Path

from piolet.harness import AgentHarness, MemoryEnvironment, Session
from piolet.llm import Model, Models


async def converse(models: Models, model: Model, number: int) -> str:
    harness = AgentHarness(models=models, model=model, environment=MemoryEnvironment(), session=Session.in_memory("/"))
    try:
        await harness.prompt(f"I am visitor {number}.")
        return (await harness.prompt("Who am I?")).text
    finally:
        await harness.close()


async def main(model_name: str, count: str) -> None:
    models = Models.open(Path.home() / ".pi" / "agent")
    model = models.find(*model_name.split("/", 1))
    assert model is not None
    answers = await asyncio.gather(*(converse(models, model, number) for number in range(int(count))))
    print(f"{len(answers)} conversations, the last answer: {answers[-1]}")
    await models.aclose()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:3]))
