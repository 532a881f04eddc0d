"""A model in the process: the n-th request gets the n-th reply, as the events of a real stream.

    model = ScriptedModel(says("Let me look.", call("read", path="a.txt")), says("Done."))
    model.requests[0].context.messages

It is a `StreamFunction`, and also what a harness takes as its models (``model.stream``).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from msgspec import structs

from piolet.base.abort import Aborted, sleep
from piolet.base.ids import now_ms
from piolet.llm.events import (
    AssistantEvent,
    DoneEvent,
    ErrorEvent,
    StartEvent,
    TextDelta,
    TextEnd,
    TextStart,
    ThinkingDelta,
    ThinkingEnd,
    ThinkingStart,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
)
from piolet.llm.messages import NO_USAGE, AssistantMessage, TextContent, ThinkingContent, ToolCall, Usage
from piolet.llm.model import Context, Model, ModelCost, StreamOptions
from piolet.llm.stream import AssistantStream

MODEL = Model("scripted-1", "Scripted", "scripted", "test", "", False, ["text"], ModelCost(), 100_000, 8_000)

Block: TypeAlias = TextContent | ThinkingContent | ToolCall
StopReason: TypeAlias = Literal["stop", "length", "toolUse"]


@dataclass(frozen=True)
class Reply:
    """`delay`: seconds before the first event; `pause`: before each further one. `gate`: waits for it before the first.
    `error`: ends so, after the blocks.
    `hang`: goes on for ever after its blocks, the last one left open. `deaf`: does not listen to its signal.
    `crash`: what the stream raises after its blocks, against its contract; `crash_at_once`: what opening it raises.
    `usage`: what it tells at its end."""

    blocks: Sequence[Block] = ()
    stop: StopReason = "stop"
    error: str | None = None
    delay: float = 0
    pause: float = 0
    gate: asyncio.Event | None = None
    hang: bool = False
    deaf: bool = False
    crash: BaseException | None = None
    crash_at_once: Exception | None = None
    usage: Usage = NO_USAGE


def says(
    *blocks: str | Block,
    stop: StopReason | None = None,
    delay: float = 0,
    pause: float = 0,
    gate: asyncio.Event | None = None,
    tokens: tuple[int, int] = (0, 0),
) -> Reply:
    """A whole answer. It stops for "toolUse" if it holds calls. `tokens` of input and output are its usage."""
    content = _content(blocks)
    calls = any(isinstance(block, ToolCall) for block in content)
    usage = structs.replace(NO_USAGE, input=tokens[0], output=tokens[1], total_tokens=sum(tokens))
    return Reply(content, stop or ("toolUse" if calls else "stop"), delay=delay, pause=pause, gate=gate, usage=usage)


def fails(error: str, *blocks: str | Block, delay: float = 0) -> Reply:
    """A request that fails after `blocks`; without blocks, before its stream starts."""
    return Reply(_content(blocks), error=error, delay=delay)


def hangs(*blocks: str | Block, deaf: bool = False) -> Reply:
    """A request that never ends by itself."""
    return Reply(_content(blocks), hang=True, deaf=deaf)


def call(name: str, id: str = "c1", **arguments: Any) -> ToolCall:
    return ToolCall(id, name, arguments)


def thinking(text: str) -> ThinkingContent:
    return ThinkingContent(text)


@dataclass(frozen=True)
class Request:
    model: Model
    context: Context
    options: StreamOptions


@dataclass
class ScriptedModel:
    """`last` answers every request beyond the script; None: such a request fails with "script exhausted"."""

    replies: list[Reply] = field(default_factory=list)
    last: Reply | None = None
    requests: list[Request] = field(default_factory=list)

    def __init__(self, *replies: Reply, last: Reply | None = None) -> None:
        self.replies, self.last, self.requests = list(replies), last, []

    @property
    def stream(self) -> Callable[[Model, Context, StreamOptions], AssistantStream]:
        return self

    def __call__(self, model: Model, context: Context, options: StreamOptions) -> AssistantStream:
        self.requests.append(Request(model, structs.replace(context, messages=list(context.messages)), options))
        index = len(self.requests) - 1
        reply = self.replies[index] if index < len(self.replies) else self.last or fails("script exhausted")
        if reply.crash_at_once is not None:
            raise reply.crash_at_once
        answer = _Answer(reply, model, options)
        return AssistantStream(answer.events(), answer.partial)


class _Answer:
    def __init__(self, reply: Reply, model: Model, options: StreamOptions) -> None:
        self.reply = reply
        self.options = options
        self.content: list[Block] = []
        self.message = AssistantMessage((), model.api, model.provider, model.id, NO_USAGE, "pending", now_ms())

    def partial(self) -> AssistantMessage:
        return structs.replace(self.message, content=tuple(self.content))

    async def events(self) -> AsyncGenerator[AssistantEvent, None]:
        reply, open_block = self.reply, None
        try:
            await self._wait(reply.delay)
            while reply.gate is not None and not reply.gate.is_set():
                await self._wait(0.01)
            if reply.error is not None and not reply.blocks:
                raise ConnectionError(reply.error)
            yield StartEvent()
            for index, block in enumerate(reply.blocks):
                self.content.append(_empty(block))
                for event in _events(index, block):
                    await self._wait(reply.pause)
                    last = index == len(reply.blocks) - 1
                    if reply.hang and last and isinstance(event, TextEnd | ThinkingEnd | ToolCallEnd):
                        open_block = event
                        break
                    self.content[index] = _grown(self.content[index], event)
                    yield event
            if reply.crash is not None:
                raise reply.crash
            if reply.error is not None:
                raise ConnectionError(reply.error)
            if reply.hang:
                await self._wait(1e6)
            yield DoneEvent(reply.stop, structs.replace(self.partial(), stop_reason=reply.stop, usage=reply.usage))
            return
        except Aborted:
            reason, text = "aborted", "Request was aborted"
        except ConnectionError as error:
            reason, text = "error", str(error)
        if open_block is not None:
            yield open_block
        failed = structs.replace(self.partial(), stop_reason=reason, error_message=text)
        yield ErrorEvent("aborted" if reason == "aborted" else "error", failed)

    async def _wait(self, seconds: float) -> None:
        if self.reply.deaf:
            await asyncio.sleep(seconds)
            return
        if self.options.signal is not None:
            self.options.signal.throw_if_aborted()
        if seconds:
            await sleep(seconds, self.options.signal)


def _content(blocks: Sequence[str | Block]) -> list[Block]:
    return [TextContent(block) if isinstance(block, str) else block for block in blocks]


def _empty(block: Block) -> Block:
    match block:
        case TextContent():
            return TextContent("")
        case ThinkingContent():
            return ThinkingContent("")
        case ToolCall(id=id, name=name):
            return ToolCall(id, name, {})


def _events(index: int, block: Block) -> Sequence[AssistantEvent]:
    match block:
        case TextContent(text=text):
            return TextStart(index), TextDelta(index, text), TextEnd(index, text)
        case ThinkingContent(thinking=text):
            return ThinkingStart(index), ThinkingDelta(index, text), ThinkingEnd(index, text)
        case ToolCall(id=id, name=name):
            return ToolCallStart(index, id, name), ToolCallDelta(index, "{}"), ToolCallEnd(index, block)


def _grown(block: Block, event: AssistantEvent) -> Block:
    match event:
        case TextDelta(delta=text) | TextEnd(content=text):
            return TextContent(text)
        case ThinkingDelta(delta=text) | ThinkingEnd(content=text):
            return ThinkingContent(text)
        case ToolCallEnd(tool_call=call):
            return call
        case _:
            return block
