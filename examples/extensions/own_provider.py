"""A provider of its own: a parrot, which needs neither key nor network, and shows how a stream is made.

    piolet -e examples/extensions/own_provider.py --model lab/parrot -p "Say something"

A provider that speaks a known wire protocol needs no stream function:

    pi.register_provider("mine", {"baseUrl": "https://…/v1", "api": "openai-completions", "apiKey": "$MY_KEY",
                                  "models": [{"id": "large", "contextWindow": 200000}]})
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator

from piolet.ext import (
    NO_USAGE,
    AssistantEvent,
    AssistantMessage,
    AssistantStream,
    Context,
    DoneEvent,
    ExtensionAPI,
    Model,
    ModelCost,
    StartEvent,
    StopReason,
    StreamOptions,
    TextContent,
    TextDelta,
    TextEnd,
    TextStart,
    text_of,
)

PARROT = Model(
    id="parrot",
    name="Parrot",
    api="lab",
    provider="lab",
    base_url="",
    reasoning=False,
    input=["text"],
    cost=ModelCost(),
    context_window=8000,
    max_tokens=1000,
)


def stream(model: Model, context: Context, options: StreamOptions) -> AssistantStream:
    """Answer with the last words of the user, one by one."""
    started, said = int(time.time() * 1000), ""

    def message(done: bool = False) -> AssistantMessage:
        content = [TextContent(said)] if said else []
        reason: StopReason = "stop" if done else "pending"
        return AssistantMessage(content, model.api, model.provider, model.id, NO_USAGE, reason, started)

    async def events() -> AsyncGenerator[AssistantEvent, None]:
        nonlocal said
        last = next((text_of(message.content) for message in reversed(context.messages)), "")
        yield StartEvent()
        yield TextStart(0)
        for word in f"You said: {last}".split(" "):
            if options.signal is not None and options.signal.aborted:
                break
            piece = word if not said else f" {word}"
            said += piece
            yield TextDelta(0, piece)
        yield TextEnd(0, said)
        yield DoneEvent("stop", message(done=True))

    return AssistantStream(events(), message)


def extension(pi: ExtensionAPI) -> None:
    pi.register_provider("lab", models=[PARROT], stream=stream)
