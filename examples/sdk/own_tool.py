"""A typed function becomes a tool: its docstring and annotations are what the model is told.

python own_tool.py PROVIDER/MODEL "What is the weather in Bern?"
"""

import asyncio
import sys
from pathlib import Path
from typing import Annotated, Literal

from piolet.agent import tool_from_function
from piolet.harness import AgentHarness, LocalEnvironment, Session
from piolet.harness.prompt.parts import PromptParts
from piolet.llm import Models


async def weather(
    city: Annotated[str, "name of the city"],
    unit: Annotated[Literal["celsius", "fahrenheit"], "unit of the temperature"] = "celsius",
) -> dict[str, object]:
    """Tell the weather of a city."""
    degrees = {"Bern": 12, "Lima": 19}.get(city)
    if degrees is None:
        raise ValueError(f"no station in {city}")  # the model gets this as an error result
    return {"city": city, "temperature": degrees if unit == "celsius" else degrees * 9 / 5 + 32, "unit": unit}


async def main(model_name: str, question: str) -> None:
    models = Models.open(Path.home() / ".pi" / "agent")
    model = models.find(*model_name.split("/", 1))
    assert model is not None
    harness = AgentHarness(
        models=models,
        model=model,
        environment=LocalEnvironment(str(Path.cwd())),
        session=Session.in_memory(str(Path.cwd())),
        tools=[tool_from_function(weather)],
        prompt=PromptParts(base="You answer questions about the weather, in one sentence."),
    )
    print((await harness.prompt(question)).text)
    await harness.close()
    await models.aclose()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:3]))
