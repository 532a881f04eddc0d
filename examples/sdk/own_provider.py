"""A provider of one's own: any async generator of events can answer. This one says the question backwards.

python own_provider.py "stressed"
"""

import asyncio
import sys
from collections.abc import AsyncGenerator
from pathlib import Path

from piolet.harness import AgentHarness, LocalEnvironment, Session
from piolet.llm import (
    NO_USAGE,
    AssistantEvent,
    AssistantMessage,
    AssistantStream,
    Context,
    DoneEvent,
    Model,
    ModelCost,
    Models,
    StartEvent,
    StopReason,
    StreamOptions,
    TextContent,
    TextDelta,
    TextEnd,
    TextStart,
    text_of,
)

MIRROR = Model("mirror", "Mirror", "mirror", "mine", "", False, ["text"], ModelCost(), 8000, 1000)


def stream(model: Model, context: Context, options: StreamOptions) -> AssistantStream:
    text = text_of(context.messages[-1].content)[::-1]

    def message(stop_reason: StopReason, content: str) -> AssistantMessage:
        return AssistantMessage([TextContent(content)], model.api, model.provider, model.id, NO_USAGE, stop_reason, 0)

    async def events() -> AsyncGenerator[AssistantEvent, None]:
        yield StartEvent()
        yield TextStart(0)
        for letter in text:
            yield TextDelta(0, letter)
        yield TextEnd(0, text)
        yield DoneEvent("stop", message("stop", text))

    return AssistantStream(events(), lambda: message("pending", ""))


async def main(question: str) -> None:
    models = Models()
    models.register_provider("mine", models=[MIRROR], stream=stream)
    cwd = str(Path.cwd())
    harness = AgentHarness(
        models=models, model=MIRROR, environment=LocalEnvironment(cwd), session=Session.in_memory(cwd)
    )
    async for event in harness.stream(question):
        if event.type == "message_update" and isinstance(event.assistant_message_event, TextDelta):
            print(event.assistant_message_event.delta, end="", flush=True)
    print()
    await harness.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
