"""``Agent``: one conversation with its state and queues, and one run at a time."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from piolet.agent.events import AgentEvent, MessageEnd, MessageStart, QueueUpdate
from piolet.agent.guard import Patience, reason_of
from piolet.agent.loop import AgentContext, Emit, LoopConfig, NextTurn, Turn, run_loop
from piolet.agent.queues import MessageQueue
from piolet.agent.running import RunSlot
from piolet.agent.tools import AgentTool
from piolet.base.abort import AbortSignal
from piolet.base.ids import now_ms
from piolet.llm.messages import (
    AssistantMessage,
    BaseMessage,
    ImageContent,
    TextContent,
    ThinkingLevel,
    UserMessage,
)
from piolet.llm.model import Model

Subscriber: TypeAlias = Callable[[AgentEvent], Awaitable[None] | None]
ErrorReport: TypeAlias = Callable[[AgentEvent, Exception], None]


class NothingToContinue(RuntimeError):
    """The context ends with an answer, and no message waits."""


class ClearedQueues(Struct, frozen=True):
    """What `clear_queue` hands back."""

    steering: Sequence[BaseMessage]
    follow_up: Sequence[BaseMessage]
    next_turn: Sequence[BaseMessage]


class Agent:
    """State around `run_loop`. `messages` is handed out as a copy; model, tools and the rest may change while it runs.

    `config` is the template of each run's config; its queue callbacks, signal and `prepare_next_turn` are wrapped. What
    changes here during a run is used from the next turn on.

    Subscribers are awaited in order, after the message of the event is in `messages`. One that raises, or hangs after
    an abort, is reported to `on_error` (default: the event loop's exception handler) and skipped. `emit` is for the
    owner of the Agent: it comes before the subscribers, is never cut short and must not raise.
    """

    def __init__(
        self,
        config: LoopConfig,
        *,
        system_prompt: str | None = None,
        tools: Sequence[AgentTool] = (),
        messages: Sequence[BaseMessage] = (),
        emit: Emit | None = None,
        on_error: ErrorReport | None = None,
    ) -> None:
        self.config = config
        self.system_prompt = system_prompt
        self.tools: Sequence[AgentTool] = tuple(tools)
        self.steering = MessageQueue()
        self.follow_ups = MessageQueue()
        self._next_turn: list[BaseMessage] = []
        self._messages = list(messages)
        self._slot = RunSlot()
        self._subscribers: list[Subscriber] = []
        self._owner = emit
        self._on_error = on_error or _report
        self._patience = Patience()

    # ---- state

    @property
    def messages(self) -> list[BaseMessage]:
        return list(self._messages)

    def replace_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Use `messages` instead, from the next turn on."""
        self._messages = list(messages)

    @property
    def model(self) -> Model:
        return self.config.model

    @model.setter
    def model(self, model: Model) -> None:
        self.config = replace(self.config, model=model)

    @property
    def thinking_level(self) -> ThinkingLevel:
        return self.config.reasoning or "off"

    @thinking_level.setter
    def thinking_level(self, level: ThinkingLevel) -> None:
        self.config = replace(self.config, reasoning=level)

    @property
    def is_running(self) -> bool:
        return self._slot.running is not None

    @property
    def signal(self) -> AbortSignal | None:
        """The signal of the run under way."""
        return self._slot.signal

    def subscribe(self, subscriber: Subscriber) -> Callable[[], None]:
        """Call `subscriber` (sync or async) with every event; return a function that ends it."""
        self._subscribers.append(subscriber)
        return lambda: self._subscribers.remove(subscriber) if subscriber in self._subscribers else None

    # ---- runs

    async def prompt(
        self,
        prompt: str | BaseMessage | Sequence[BaseMessage],
        images: Sequence[ImageContent] = (),
        *,
        signal: AbortSignal | None = None,
    ) -> list[BaseMessage]:
        """Run with a new prompt and return the messages that are new.

        Raises `Busy` while a run is under way. What the provider does wrong is in the last message.
        """
        self._slot.check_free("a run")
        prompts = [*as_messages(prompt, images), *self.take_next_turn()]
        return await self._slot.run("a run", lambda own: self._run(prompts, own), signal)

    async def continue_(self, *, signal: AbortSignal | None = None, anyway: bool = False) -> list[BaseMessage]:
        """Run without a new prompt: after a failed answer was taken out, or for messages that wait in a queue.

        `anyway`: also if the conversation ends with an answer. Raises `Busy`, and `NothingToContinue`.
        """
        self._slot.check_free("a run")
        prompts: Sequence[BaseMessage] = ()
        if (not self._messages or isinstance(self._messages[-1], AssistantMessage)) and not self.steering:
            prompts = self.follow_ups.due()
            if not prompts and not anyway:
                raise NothingToContinue("The conversation ends with an answer and no message is queued")
        return await self._slot.run("a run", lambda own: self._run(prompts, own), signal)

    def abort(self) -> None:
        """Ask the run under way to stop. The queues stay as they are."""
        self._slot.abort()

    async def wait_idle(self) -> None:
        """Return when no run is under way."""
        await self._slot.wait_idle()

    # ---- queues

    async def steer(self, message: str | BaseMessage) -> None:
        """Deliver `message` before the next request: in a run after the present turn, else with the next prompt."""
        await self._put(self.steering, message)

    async def follow_up(self, message: str | BaseMessage) -> None:
        """Deliver `message` when the run would end."""
        await self._put(self.follow_ups, message)

    def next_turn(self, message: str | BaseMessage) -> None:
        """Add `message` to the next prompt, behind it."""
        self._next_turn.extend(as_messages(message))

    def take_next_turn(self) -> list[BaseMessage]:
        """Take away and return what waits for the next prompt."""
        taken, self._next_turn = self._next_turn, []
        return taken

    async def clear_queue(self) -> ClearedQueues:
        """Empty all queues and hand back what was in them."""
        cleared = ClearedQueues(self.steering.clear(), self.follow_ups.clear(), self.take_next_turn())
        if cleared.steering or cleared.follow_up:
            await self.announce_queues()
        return cleared

    async def _put(self, queue: MessageQueue, message: str | BaseMessage) -> None:
        for one in as_messages(message):
            queue.put(one)
        await self.announce_queues()

    async def announce_queues(self) -> None:
        """Tell what is in the queues, after somebody has put something into one by himself."""
        await self._tell(QueueUpdate(self.steering.snapshot(), self.follow_ups.snapshot()))

    # ---- the run

    async def _run(self, prompts: Sequence[BaseMessage], signal: AbortSignal) -> list[BaseMessage]:
        config = replace(
            self.config,
            signal=signal,
            get_steering_messages=self._due_steering,
            get_follow_up_messages=self._due_follow_ups,
            prepare_next_turn=self._prepare_next_turn,
        )
        try:
            return await run_loop(prompts, self._context(), config, self._emit)
        finally:
            self.steering.release()
            self.follow_ups.release()

    def _context(self) -> AgentContext:
        return AgentContext(self._messages, self.system_prompt, self.tools)

    async def _due_steering(self) -> Sequence[BaseMessage]:
        own = self.config.get_steering_messages
        return [*self.steering.due(), *(await own() if own else ())]

    async def _due_follow_ups(self) -> Sequence[BaseMessage]:
        own = self.config.get_follow_up_messages
        return [*self.follow_ups.due(), *(await own() if own else ())]

    async def _prepare_next_turn(self, turn: Turn) -> NextTurn:
        change = await self.config.prepare_next_turn(turn) if self.config.prepare_next_turn else None
        if change is not None:
            model, reasoning = change.model or self.config.model, change.reasoning or self.config.reasoning
            self.config = replace(self.config, model=model, reasoning=reasoning)
            if change.context is not None:
                self._messages = list(change.context.messages)
                self.system_prompt, self.tools = change.context.system_prompt, change.context.tools
        return NextTurn(self.config.model, self.config.reasoning, self._context())

    async def _emit(self, event: AgentEvent) -> None:
        match event:
            case MessageStart(message=message) if self.steering.delivered(message) or self.follow_ups.delivered(
                message
            ):
                await self.announce_queues()
            case MessageEnd(message=message):
                self._messages.append(message)
            case _:
                pass
        await self._tell(event)

    async def _tell(self, event: AgentEvent) -> None:
        if self._owner is not None:
            await self._owner(event)
        for subscriber in tuple(self._subscribers):
            try:
                told = subscriber(event)
                if inspect.isawaitable(told):
                    await self._patience.wait_for(told, self.signal)
            except Exception as error:
                with suppress(Exception):
                    self._on_error(event, error)


def _report(event: AgentEvent, error: Exception) -> None:
    message = f"A subscriber failed at {event.type}: {reason_of(error)}"
    asyncio.get_running_loop().call_exception_handler({"message": message, "exception": error})


def as_messages(
    prompt: str | BaseMessage | Sequence[BaseMessage], images: Sequence[ImageContent] = ()
) -> list[BaseMessage]:
    """Return a prompt as messages: a text (with images) becomes one user message."""
    if isinstance(prompt, str):
        return [UserMessage([TextContent(prompt), *images], now_ms())]
    return [prompt] if isinstance(prompt, BaseMessage) else list(prompt)
