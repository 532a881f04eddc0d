"""``run_loop``: one agent run over one context. A function without state that knows a context and callbacks.

Only the loop's own task calls `emit`, and awaits it. Tools run in tasks of their own and report through a queue. What
a callback, a tool or a provider does wrong ends up as a message or a result; the sequence of events stays whole. After
an abort every callback, tool and stream has 2 s, then it is cancelled.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Literal, ParamSpec, TypeAlias, TypeVar

from msgspec import Struct, field, structs
from msgspec.structs import replace

from piolet.agent.batch import AfterToolCall, BeforeToolCall, run_batch
from piolet.agent.events import (
    AgentEnd,
    AgentEvent,
    AgentStart,
    MessageEnd,
    MessageStart,
    MessageUpdate,
    TurnEnd,
    TurnStart,
)
from piolet.agent.guard import GRACE, guarded, reason_of
from piolet.agent.tools import AgentTool
from piolet.base.abort import Aborted, AbortSignal
from piolet.base.ids import now_ms
from piolet.llm.events import AssistantEvent, DoneEvent, ErrorEvent, StartEvent
from piolet.llm.messages import (
    NO_USAGE,
    AssistantMessage,
    BaseMessage,
    Message,
    StopReason,
    ThinkingLevel,
    ToolResultMessage,
)
from piolet.llm.model import Context, Model, StreamOptions
from piolet.llm.stream import AssistantStream, StreamFunction

P = ParamSpec("P")
T = TypeVar("T")
M = TypeVar("M", bound=BaseMessage)

Emit: TypeAlias = Callable[[AgentEvent], Awaitable[None]]
MessageSource: TypeAlias = Callable[[], Awaitable[Sequence[BaseMessage]]]


class AgentContext(Struct, frozen=True):
    """What a run works on. `messages` may be any records with a role; `convert_to_llm` decides what a model sees."""

    messages: Sequence[BaseMessage]
    system_prompt: str | None = None
    tools: Sequence[AgentTool] = ()


class Turn(Struct, frozen=True):
    """A turn that has ended: the answer and the results of its calls. `index` counts from 0."""

    index: int
    message: AssistantMessage
    tool_results: Sequence[ToolResultMessage]
    context: AgentContext


class NextTurn(Struct, frozen=True):
    """What the following turns use instead; None leaves a thing as it is."""

    model: Model | None = None
    reasoning: ThinkingLevel | None = None
    context: AgentContext | None = None


class LoopConfig(Struct, frozen=True, kw_only=True):
    """The only way out of the loop. All optional but the model, the stream and `convert_to_llm`.

    Callbacks may raise: where nothing else is said, the run then ends with an error message of that text. After an
    abort none is begun but `finalize_message`.

    `convert_to_llm`: pure; what a model gets for the messages.
    `transform_context`: sees the messages before each request and returns what is sent; nothing is stored.
    `finalize_message`: may replace a message before it enters the context; the role stays.
    `before_tool_call`: return `Block` to refuse a call; a raise refuses it too. It may change the arguments in place;
        they are validated again. Asked about one call after another.
    `after_tool_call`: return a result that replaces the tool's; a raise makes it an error result.
    `get_steering_messages`: asked before the first request and after each turn. `get_follow_up_messages`: asked when
        the run would end. What they return is delivered before the next request, unless an abort comes first: let a
        message go when its `MessageStart` is emitted, not earlier.
    `prepare_next_turn`: asked before each further turn; may change model, reasoning, prompt, tools, messages.
    `should_stop_after_turn`: True ends the run after the turn, whatever is waiting.
    `get_api_key`: the key for a provider, asked before each request.
    """

    model: Model
    stream: StreamFunction
    convert_to_llm: Callable[[Sequence[BaseMessage]], Sequence[Message]]
    reasoning: ThinkingLevel | None = None
    options: StreamOptions = field(default_factory=StreamOptions)
    signal: AbortSignal = field(default_factory=AbortSignal)
    tool_execution: Literal["parallel", "sequential"] = "parallel"
    transform_context: Callable[[Sequence[BaseMessage]], Awaitable[Sequence[BaseMessage]]] | None = None
    finalize_message: Callable[[BaseMessage], Awaitable[BaseMessage]] | None = None
    before_tool_call: BeforeToolCall | None = None
    after_tool_call: AfterToolCall | None = None
    get_steering_messages: MessageSource | None = None
    get_follow_up_messages: MessageSource | None = None
    prepare_next_turn: Callable[[Turn], Awaitable[NextTurn | None]] | None = None
    should_stop_after_turn: Callable[[Turn], Awaitable[bool]] | None = None
    get_api_key: Callable[[str], Awaitable[str | None]] | None = None


async def run_loop(
    prompts: Sequence[BaseMessage], context: AgentContext, config: LoopConfig, emit: Emit
) -> list[BaseMessage]:
    """Run until the model has nothing more to do; return the messages that are new, `prompts` first.

    Without `prompts` the run goes on from the context as it is. A failure of the provider or a callback, and an abort,
    end the run with an assistant message that says so; every call of an answer that did not fail has its result.
    Raises only what `emit` raises.
    """
    run = _Run(context, config, emit)
    await emit(AgentStart())
    await run.turns(prompts)
    await emit(AgentEnd(tuple(run.new)))
    return run.new


class _Run:
    """The variables of one run."""

    def __init__(self, context: AgentContext, config: LoopConfig, emit: Emit) -> None:
        self.context = context
        self.messages = list(context.messages)
        self.config = config
        self.emit = emit
        self.new: list[BaseMessage] = []
        self._failure: Exception | None = None

    async def turns(self, prompts: Sequence[BaseMessage]) -> None:
        index = 0
        waiting = await self._ask(self.config.get_steering_messages) or ()
        while True:
            await self.emit(TurnStart(index, now_ms()))
            for prompt in prompts:
                await self._add(prompt)
            for message in waiting:
                if not self.config.signal.aborted:
                    await self._add(message)
            turn, goes_on = await self._turn(index)
            await self.emit(TurnEnd(turn.message, turn.tool_results, index))
            if turn.message.stop_reason in ("error", "aborted"):
                return
            if await self._ask(self.config.should_stop_after_turn, turn):
                return
            waiting = await self._ask(self.config.get_steering_messages) or ()
            if not waiting and not goes_on:
                waiting = await self._ask(self.config.get_follow_up_messages) or ()
            if not waiting and not goes_on and self._failure is None:
                return
            self._change(await self._ask(self.config.prepare_next_turn, turn))
            prompts = ()
            index += 1

    async def _turn(self, index: int) -> tuple[Turn, bool]:
        """One answer and its tool calls. Return them, and whether the results ask for another answer."""
        answer = await self._answer()
        results: Sequence[ToolResultMessage] = ()
        goes_on = False
        if answer.tool_calls and answer.stop_reason not in ("error", "aborted"):
            outcome = await run_batch(answer, self.context.tools, self.config, self.emit, self._add)
            results, goes_on = outcome.results, not outcome.terminate
        return Turn(index, answer, results, replace(self.context, messages=tuple(self.messages))), goes_on

    # --------------------------------------------------------------------------------------------------- one request

    async def _answer(self) -> AssistantMessage:
        """Make one request. The answer is in the context afterwards, also one that failed."""
        stream: AssistantStream | None = None
        final: AssistantMessage | None = None
        started = False
        signal, now = self.config.signal, asyncio.get_running_loop().time
        give_up: float | None = None
        try:
            while final is None:
                try:
                    stream = stream or await self._open_stream()
                    if signal.aborted and give_up is None:
                        give_up = now() + GRACE
                    event = await guarded(anext(stream), signal, GRACE if give_up is None else give_up - now())
                except Aborted:
                    text = "Request was aborted" if stream else "This operation was aborted"
                    final = self._failed(stream, "aborted", text)
                except StopAsyncIteration:
                    final = self._failed(stream, "error", "The model's stream ended without a result")
                except Exception as error:
                    final = self._failed(stream, "error", reason_of(error))
                else:
                    match event:
                        case DoneEvent(message=message) | ErrorEvent(error=message):
                            final = message
                        case _:
                            if not started:
                                started = True
                                await self.emit(MessageStart(stream.partial))
                            if not isinstance(event, StartEvent):
                                await self.emit(_update(event, stream))
        finally:
            if stream is not None:
                await _close(stream)
        final = await self._finalize(final)
        if not started:
            await self.emit(MessageStart(final))
        return await self._enter(final)

    async def _open_stream(self) -> AssistantStream:
        config = self.config
        config.signal.throw_if_aborted()
        if self._failure is not None:
            raise self._failure
        messages: Sequence[BaseMessage] = tuple(self.messages)
        if config.transform_context is not None:
            messages = await guarded(config.transform_context(messages), config.signal)
        request = Context(
            messages=config.convert_to_llm(messages),
            system_prompt=self.context.system_prompt,
            tools=[tool.spec() for tool in self.context.tools],
        )
        config.signal.throw_if_aborted()
        options = replace(config.options, signal=config.signal, reasoning=config.reasoning)
        if config.get_api_key is not None:
            key = await guarded(config.get_api_key(config.model.provider), config.signal)
            options = replace(options, api_key=key or options.api_key)
        config.signal.throw_if_aborted()
        return config.stream(config.model, request, options)

    def _failed(self, stream: AssistantStream | None, reason: StopReason, text: str) -> AssistantMessage:
        """Return what has arrived, as a message that ends with `reason`."""
        model = self.config.model
        empty = AssistantMessage([], model.api, model.provider, model.id, NO_USAGE, "pending", now_ms())
        return structs.replace(stream.partial if stream else empty, stop_reason=reason, error_message=text)

    # ----------------------------------------------------------------------------------------- callbacks and context

    async def _ask(self, callback: Callable[P, Awaitable[T]] | None, *args: P.args, **kwargs: P.kwargs) -> T | None:
        """Ask between turns. None without callback, after an abort, and once one failed: the next answer says so."""
        signal = self.config.signal
        if callback is None or signal.aborted or self._failure is not None:
            return None
        try:
            return await guarded(callback(*args, **kwargs), signal)
        except Exception as error:
            if not signal.aborted:
                self._failure = error
            return None

    def _change(self, change: NextTurn | None) -> None:
        if change is None:
            return
        if change.context is not None:
            self.context, self.messages = change.context, list(change.context.messages)
        self.config = replace(
            self.config,
            model=change.model or self.config.model,
            reasoning=change.reasoning or self.config.reasoning,
        )

    async def _add(self, message: M) -> M:
        """Announce a whole message, finalize it, and let it enter the context."""
        await self.emit(MessageStart(message))
        return await self._enter(await self._finalize(message))

    async def _finalize(self, message: M) -> M:
        if self.config.finalize_message is None:
            return message
        try:
            changed = await guarded(self.config.finalize_message(message), self.config.signal)
        except Exception as error:
            self._failure = self._failure or error
            return message
        return changed if isinstance(changed, type(message)) else message

    async def _enter(self, message: M) -> M:
        self.messages.append(message)
        self.new.append(message)
        await self.emit(MessageEnd(message))
        return message


def _update(event: AssistantEvent, stream: AssistantStream) -> MessageUpdate:
    return MessageUpdate(event, lambda: stream.partial)


async def _close(stream: AssistantStream) -> None:
    """Close a stream that is done or given up; how it takes that is no longer our matter."""
    with suppress(Exception):
        async with asyncio.timeout(GRACE):
            await guarded(stream.aclose(), None)
