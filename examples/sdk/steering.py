"""Steering from another task: a word to the agent while it works, a deadline that stops it in order.

python steering.py PROVIDER/MODEL
"""

import asyncio
import sys
from pathlib import Path

from piolet.harness import AgentHarness, HarnessEvent, LocalEnvironment, Session, built_in_tools
from piolet.llm import Models


async def main(model_name: str) -> None:
    models = Models.open(Path.home() / ".pi" / "agent")
    model = models.find(*model_name.split("/", 1))
    assert model is not None
    environment = LocalEnvironment(str(Path.cwd()))
    harness = AgentHarness(
        models=models,
        model=model,
        environment=environment,
        session=Session.in_memory(environment.cwd),
        tools=[built_in_tools(environment)["bash"]],
    )
    working = asyncio.Event()

    def listen(event: HarnessEvent) -> None:
        if event.type == "tool_execution_start":
            working.set()

    harness.subscribe(listen)

    async def steer() -> None:
        await working.wait()
        await harness.steer("Say it in French.")  # delivered when the tool has ended

    steering = asyncio.create_task(steer())
    try:
        async with asyncio.timeout(60):
            result = await harness.prompt("Tell me today's date.")
        print(result.text)
    except TimeoutError:
        await harness.wait_idle()  # the run settles by itself; the session is whole
        print("too slow")
    steering.cancel()
    await harness.close()
    await models.aclose()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
