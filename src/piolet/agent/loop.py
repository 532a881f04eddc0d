"""``run_loop``: one agent run over one context. A function without state that knows a context and callbacks.

Only the loop's own task calls `emit`, and awaits it. Tools run in tasks of their own and report through a queue. What
a callback, a tool or a provider does wrong ends up as a message or a result; the sequence of events stays whole.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from msgspec import structs

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
from piolet.agent.tools import AgentTool
from piolet.base.abort import Aborted, AbortSignal, abortable
from piolet.base.ids import now_ms
from piolet.llm.events import DoneEvent, ErrorEvent, StartEvent
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

#: Seconds that a stream which ignores its signal gets after an abort before it is dropped.
STREAM_GRACE = 1.0

Emit: TypeAlias = Callable[[AgentEvent], Awaitable[None]]
MessageSource: TypeAlias = Callable[[], Awaitable[Sequence[BaseMessage]]]


@dataclass(frozen=True, slots=True)
class AgentContext:
    """What a run works on. `messages` may be any records with a role; `convert_to_llm` decides what a model sees."""

    messages: Sequence[BaseMessage]
    system_prompt: str | None = None
    tools: Sequence[AgentTool] = ()


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn that has ended: the answer and the results of its calls. `index` counts from 0."""

    index: int
    message: AssistantMessage
    tool_results: Sequence[ToolResultMessage]
    context: AgentContext


@dataclass(frozen=True, slots=True)
class NextTurn:
    """What the following turns use instead; None leaves a thing as it is."""

    model: Model | None = None
    reasoning: ThinkingLevel | None = None
    context: AgentContext | None = None


@dataclass(frozen=True, kw_only=True)
class LoopConfig:
    """The only way out of the loop. All optional but the model, the stream and `convert_to_llm`.

    `convert_to_llm`: pure; what a model gets for the messages. A raise ends the run with an error message.
    `transform_context`: sees the messages before each request and returns what is sent; nothing is stored. As above.
    `finalize_message`: may replace a message before it enters the context; the role stays. Must not raise.
    `before_tool_call`: return `Block` to refuse a call; a raise refuses it too. It may change the arguments in place;
        they are validated again.
    `after_tool_call`: return a result that replaces the tool's; a raise makes it an error result.
    `get_steering_messages`: asked after each turn, and before the first request; what it returns is delivered before
        the next request unless the run is aborted. `get_follow_up_messages`: asked when the run would end.
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

    Without `prompts` the run goes on from the context as it is. Failures of the provider and aborts end the run with an
    assistant message that says so; every call that an answer holds has a result by then.
    """
    run = _Run(context, config, emit)
    await emit(AgentStart())
    await run.turns(prompts)
    await emit(AgentEnd(tuple(run.new)))
    return run.new


class _Run:
    """The variables of one run."""

    def __init__(self, context: AgentContext, config: LoopConfig, emit: Emit) -> None:
        self.context = replace(context, messages=list(context.messages))
        self.config = config
        self.emit = emit
        self.new: list[BaseMessage] = []
        self._terminated = False

    async def turns(self, prompts: Sequence[BaseMessage]) -> None:
        index = 0
        waiting = await self._messages(self.config.get_steering_messages)
        while True:
            await self.emit(TurnStart(index, now_ms()))
            for prompt in prompts:
                await self._add(prompt)
            if not self.config.signal.aborted:
                for message in waiting:
                    await self._add(message)
            turn = await self._turn(index)
            await self.emit(TurnEnd(turn.message, turn.tool_results, index))
            if turn.message.stop_reason in ("error", "aborted") or await self._should_stop(turn):
                return
            waiting = await self._messages(self.config.get_steering_messages)
            if not waiting and not (turn.tool_results and not self._terminated):
                waiting = await self._messages(self.config.get_follow_up_messages)
                if not waiting:
                    return
            await self._prepare(turn)
            prompts = ()
            index += 1

    async def _turn(self, index: int) -> Turn:
        """One answer and its tool calls."""
        answer = await self._answer()
        results: Sequence[ToolResultMessage] = ()
        self._terminated = False
        if answer.tool_calls and answer.stop_reason not in ("error", "aborted"):
            outcome = await run_batch(answer, self.context.tools, self.config, self.emit)
            results = [await self._add_result(result) for result in outcome.results]
            self._terminated = outcome.terminate
        return Turn(index, answer, results, self.context)

    async def _answer(self) -> AssistantMessage:
        """One request. The answer is in the context afterwards, also one that failed."""
        started = False
        stream: AssistantStream | None = None
        final: AssistantMessage | None = None
        try:
            stream = await self._open_stream()
            events = aiter(stream)
            while final is None:
                event = await abortable(anext(events), self.config.signal, STREAM_GRACE)
                match event:
                    case StartEvent():
                        await self.emit(MessageStart(stream.partial))
                        started = True
                    case DoneEvent(message=message) | ErrorEvent(error=message):
                        final = message
                    case _:
                        await self.emit(MessageUpdate(event, lambda stream=stream: stream.partial))  # type: ignore[misc]
        except Aborted:
            text = "Request was aborted" if started else "This operation was aborted"
            final = self._failed(stream if started else None, "aborted", text)
        except StopAsyncIteration:
            final = self._failed(stream, "error", "The model's stream ended without a result")
        except Exception as error:
            final = self._failed(stream if started else None, "error", str(error) or type(error).__name__)
        finalized = await self._finalize(final)
        if isinstance(finalized, AssistantMessage):
            final = finalized
        if not started:
            await self.emit(MessageStart(final))
        await self._enter(final)
        return final

    async def _open_stream(self) -> AssistantStream:
        config = self.config
        config.signal.throw_if_aborted()
        messages: Sequence[BaseMessage] = self.context.messages
        if config.transform_context:
            messages = await config.transform_context(tuple(messages))
        request = Context(
            messages=config.convert_to_llm(messages),
            system_prompt=self.context.system_prompt,
            tools=[tool.spec() for tool in self.context.tools],
        )
        options = replace(config.options, signal=config.signal, reasoning=config.reasoning)
        if config.get_api_key and (key := await config.get_api_key(config.model.provider)):
            options = replace(options, api_key=key)
        config.signal.throw_if_aborted()
        return config.stream(config.model, request, options)

    def _failed(self, stream: AssistantStream | None, reason: StopReason, text: str) -> AssistantMessage:
        model = self.config.model
        partial = stream.partial if stream else None
        if partial is None:
            partial = AssistantMessage([], model.api, model.provider, model.id, NO_USAGE, "pending", now_ms())
        return structs.replace(partial, stop_reason=reason, error_message=text)

    async def _prepare(self, turn: Turn) -> None:
        if self.config.prepare_next_turn is None:
            return
        change = await self.config.prepare_next_turn(turn)
        if change is None:
            return
        if change.context is not None:
            self.context = replace(change.context, messages=list(change.context.messages))
        self.config = replace(
            self.config,
            model=change.model or self.config.model,
            reasoning=change.reasoning or self.config.reasoning,
        )

    async def _should_stop(self, turn: Turn) -> bool:
        return self.config.should_stop_after_turn is not None and await self.config.should_stop_after_turn(turn)

    async def _messages(self, source: MessageSource | None) -> Sequence[BaseMessage]:
        return await source() if source and not self.config.signal.aborted else ()

    async def _finalize(self, message: BaseMessage) -> BaseMessage:
        if self.config.finalize_message is None:
            return message
        changed = await self.config.finalize_message(message)
        return changed if changed.role == message.role else message

    async def _add(self, message: BaseMessage) -> BaseMessage:
        """Finalize a whole message, announce it, and let it enter the context."""
        await self.emit(MessageStart(message))
        message = await self._finalize(message)
        await self._enter(message)
        return message

    async def _add_result(self, message: ToolResultMessage) -> ToolResultMessage:
        added = await self._add(message)
        assert isinstance(added, ToolResultMessage)
        return added

    async def _enter(self, message: BaseMessage) -> None:
        assert isinstance(self.context.messages, list)
        self.context.messages.append(message)
        self.new.append(message)
        await self.emit(MessageEnd(message))
