"""The same tools over files that exist in memory only: nothing on this machine can be read or changed.

python virtual_files.py PROVIDER/MODEL "Correct the spelling in notes.txt."
"""

import asyncio
import sys
from pathlib import Path

from piolet.harness import AgentHarness, MemoryEnvironment, Session, built_in_tools
from piolet.llm import Models


async def main(model_name: str, task: str) -> None:
    models = Models.open(Path.home() / ".pi" / "agent")
    model = models.find(*model_name.split("/", 1))
    assert model is not None
    environment = MemoryEnvironment({"/work/notes.txt": "Teh quick brown fox\n"}, cwd="/work")
    harness = AgentHarness(
        models=models,
        model=model,
        environment=environment,
        session=Session.in_memory("/work"),
        tools=list(built_in_tools(environment).values()),
        active_tools=["read", "edit", "write", "ls"],
    )
    await harness.prompt(task)
    print((await environment.read_bytes("/work/notes.txt")).decode(), end="")
    await harness.close()
    await models.aclose()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:3]))
