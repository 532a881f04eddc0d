"""``AgentHarness``: an agent bound to a session and an environment, for people who embed it.

One harness has one session for life. It never changes the session it is bound to: `fork` writes a new one and returns
it. One operation at a time: a run, a compaction, a navigation. Idle, it holds no task and no thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, TypeVar

from msgspec.structs import replace

from piolet.agent.agent import Agent, ClearedQueues, as_messages
from piolet.agent.events import AgentEvent
from piolet.agent.loop import LoopConfig, NextTurn, Turn
from piolet.agent.running import Busy, RunSlot
from piolet.agent.tools import AgentTool
from piolet.base.abort import AbortController, AbortSignal
from piolet.base.frontmatter import split_frontmatter
from piolet.harness.appending import Appender
from piolet.harness.bridge import HookBridge
from piolet.harness.compaction.compactor import CompactionPolicy, Compactor
from piolet.harness.drafts import EntryDraft
from piolet.harness.drive import Drive, RunResult, is_failed
from piolet.harness.environments.base import Environment
from piolet.harness.errors import HarnessBusy, HarnessClosed, NothingToDo, UnknownTarget
from piolet.harness.events import AgentSettled, CompactionResult, HarnessEvent, ModelSelect, ThinkingLevelSelect
from piolet.harness.hook_points import ASKED_AT_HOOK
from piolet.harness.hooks import Hook, Hooks
from piolet.harness.live_context import LiveContext
from piolet.harness.messages import convert_to_llm
from piolet.harness.prompt.parts import PromptParts
from piolet.harness.prompt.records import PromptInputs, Skill
from piolet.harness.prompt.skills import skill_block
from piolet.harness.prompt.system_prompt import system_prompt
from piolet.harness.prompt.templates import PromptTemplate, expand_template
from piolet.harness.recorder import Recorder
from piolet.harness.retry import RetryPolicy
from piolet.harness.session.session import Session
from piolet.harness.stats import ContextUsage, SessionStats
from piolet.harness.sync import run_sync
from piolet.llm.messages import AssistantMessage, BaseMessage, ImageContent, Message, ThinkingLevel
from piolet.llm.model import Context, Model, StreamOptions
from piolet.llm.stream import AssistantStream, StreamFunction
from piolet.llm.thinking import clamp_level

if TYPE_CHECKING:
    from piolet.harness.navigation import NavigationResult

T = TypeVar("T")
Listener: TypeAlias = Callable[[HarnessEvent], Awaitable[None] | None]


CLOSED = "This harness is closed; make a new one over its session"


class ModelSource(Protocol):
    """Whatever answers requests: `piolet.llm.Models`, or a scripted one."""

    @property
    def stream(self) -> StreamFunction: ...


class AgentHarness:
    """See the module. The parameters:

    `models` answers requests. `tools` are all that exist here, `active_tools` (names; None: all) those on offer.
    `prompt`: the parts of the system prompt, built again before each request; without parts of its own for skills it
    lists `skills`. `skills` and `templates` can be called by name. `retry`: when a failed request is tried
    again. `hooks`: a registry to share; None makes one. `options`: for every request. `convert_to_llm`: what a model
    gets for the messages of the session.
    """

    def __init__(
        self,
        *,
        models: ModelSource,
        model: Model,
        environment: Environment,
        session: Session,
        tools: Sequence[AgentTool] = (),
        active_tools: Sequence[str] | None = None,
        prompt: PromptParts | None = None,
        skills: Sequence[Skill] = (),
        templates: Sequence[PromptTemplate] = (),
        thinking_level: ThinkingLevel = "off",
        retry: RetryPolicy | None = None,
        compaction: CompactionPolicy | None = None,
        hooks: Hooks | None = None,
        options: StreamOptions | None = None,
        convert_to_llm: Callable[[Sequence[BaseMessage]], Sequence[Message]] = convert_to_llm,
    ) -> None:
        self.session = session
        self.environment = environment
        self.hooks = hooks or Hooks()
        self.retry = retry or RetryPolicy()
        self.compaction = compaction or CompactionPolicy()
        self.compactor = Compactor(self)
        prompt = prompt or PromptParts()
        self.prompt_parts = prompt if prompt.skills else replace(prompt, skills=skills)
        self.recorder = Recorder(self)
        self.appender = Appender(self)
        self.bridge = HookBridge(self.hooks, lambda: self._slot.signal)
        self._models = models
        self._skills = skills
        self._templates = templates
        self._tools = {tool.name: tool for tool in tools}
        self._active = [tool.name for tool in tools] if active_tools is None else list(active_tools)
        self._slot = RunSlot()
        self._drive: Drive | None = None
        self._listeners: list[Listener] = []
        self._retry_wait: AbortController | None = None
        self._stream: AssistantStream | None = None
        self._closing = False
        self._closed = False
        level = clamp_level(model, thinking_level)
        self.agent = Agent(
            LoopConfig(
                model=model,
                stream=self._open_stream,
                convert_to_llm=convert_to_llm,
                reasoning=level,
                options=options or StreamOptions(),
                transform_context=self.bridge.transform_context,
                finalize_message=self._finalize,
                before_tool_call=self.bridge.before_tool_call,
                after_tool_call=self.bridge.after_tool_call,
                prepare_next_turn=self._prepare_next_turn,
                should_stop_after_turn=self._should_stop,
            ),
            tools=self._active_tools(),
            emit=self._on_agent_event,
        )
        self.context = LiveContext(session, self.agent)

    # ---- runs

    async def prompt(
        self, prompt: str | BaseMessage | Sequence[BaseMessage], images: Sequence[ImageContent] = ()
    ) -> RunResult:
        """Run with a new prompt until nothing more happens by itself.

        What the provider does wrong is in the result. Raises `HarnessBusy`, `HarnessClosed`, `PromptFailed`,
        `NothingToDo` for an empty list; `SessionError` if the session could not take a message. A caller that is
        cancelled aborts the run; it settles by itself.
        """
        messages = as_messages(prompt, images)
        if not messages:
            raise NothingToDo("The prompt holds no message")
        return await self._run(messages)

    async def continue_(self) -> RunResult:
        """Run without a new prompt: after an aborted or failed answer, which is taken out of the context, or for queued
        messages. Raises `NothingToDo`, and as `prompt` does."""
        if not self.can_continue:
            raise NothingToDo("Nothing to continue: the conversation ends with an answer and no message is queued")
        return await self._run(())

    @property
    def can_continue(self) -> bool:
        """Whether there is something to answer: a message that waits, or one at the end of the conversation."""
        if self.agent.steering or self.agent.follow_ups:
            return True
        asked = [message for message in self.agent.messages if not is_failed(message)]
        return bool(asked) and not isinstance(asked[-1], AssistantMessage)

    async def stream(
        self, prompt: str | BaseMessage | Sequence[BaseMessage], images: Sequence[ImageContent] = ()
    ) -> AsyncIterator[HarnessEvent]:
        """Run with a new prompt and yield every event up to `AgentSettled`. Leaving the iteration early aborts the
        run, which settles by itself. Raises as `prompt` does."""
        self._check_free("a run")
        events: asyncio.Queue[HarnessEvent | None] = asyncio.Queue()
        unsubscribe = self.subscribe(events.put_nowait)
        run = asyncio.create_task(self.prompt(prompt, images))
        run.add_done_callback(lambda task: events.put_nowait(None))
        try:
            while (event := await events.get()) is not None:
                yield event
                if isinstance(event, AgentSettled):
                    break
            await run
        finally:
            unsubscribe()
            run.cancel()

    def run_sync(
        self, prompt: str | BaseMessage | Sequence[BaseMessage], images: Sequence[ImageContent] = ()
    ) -> RunResult:
        """`prompt`, for code without an event loop. All such calls share one background thread."""
        return run_sync(self.prompt(prompt, images))

    async def skill(self, name: str, text: str = "") -> RunResult:
        """Run with a skill of the constructor, called by name, and what the user adds.

        Raises `UnknownTarget` if there is none or its file cannot be read, and as `prompt` does.
        """
        skill = next((skill for skill in self._skills if skill.name == name), None)
        if skill is None:
            raise UnknownTarget(f"No skill named {name!r}")
        try:
            text_of_file = await asyncio.to_thread(Path(skill.path).read_text, encoding="utf-8")
        except (OSError, UnicodeError) as error:
            raise UnknownTarget(f"Skill {name!r} cannot be read from {skill.path}: {error}") from error
        return await self.prompt(skill_block(skill, split_frontmatter(text_of_file)[1], text))

    async def template(self, name: str, arguments: str = "") -> RunResult:
        """Run with a prompt template of the constructor, its placeholders filled. Raises `UnknownTarget`."""
        if not any(template.name == name for template in self._templates):
            raise UnknownTarget(f"No prompt template named {name!r}")
        return await self.prompt(expand_template(f"/{name} {arguments}", self._templates))

    async def steer(self, message: str | BaseMessage) -> None:
        """Deliver `message` before the next request of the run under way, or with the next prompt."""
        self._check_open()
        await self.agent.steer(message)

    async def follow_up(self, message: str | BaseMessage) -> None:
        """Deliver `message` when the run would end."""
        self._check_open()
        await self.agent.follow_up(message)

    def next_turn(self, message: str | BaseMessage) -> None:
        """Send `message` along with the next prompt, behind it. What still waits at `close` is stored then."""
        self._check_open()
        self.agent.next_turn(message)

    async def clear_queue(self) -> ClearedQueues:
        """Empty all queues and hand back what was in them."""
        return await self.agent.clear_queue()

    async def abort(self) -> None:
        """Stop what is under way and return when it has settled. Queued messages stay queued. From inside a handler it
        only asks for the stop, since waiting there would be waiting for oneself."""
        self._slot.abort()
        if not self._slot.inside:
            await self._slot.wait_idle()

    def request_abort(self, reason: str = "aborted") -> None:
        """Ask what is under way to stop; do not wait."""
        self._slot.abort(reason)

    def abort_retry(self) -> None:
        """End the wait before a retry, if there is one; the run settles."""
        if self._retry_wait is not None:
            self._retry_wait.abort()

    async def wait_idle(self) -> None:
        """Return when nothing is under way."""
        try:
            await self._slot.wait_idle()
        except Busy as error:
            raise HarnessBusy(str(error)) from None

    @property
    def operation(self) -> str | None:
        """The operation under way ("a run", "a compaction", "a navigation"); None when idle."""
        return self._slot.running

    @property
    def signal(self) -> AbortSignal | None:
        """The signal of the operation under way."""
        return self._slot.signal

    # ---- model, tools, prompt

    @property
    def model(self) -> Model:
        return self.agent.model

    async def set_model(self, model: Model, source: Literal["set", "cycle", "restore"] = "set") -> None:
        """Use `model` from the next request on, and say so in the session. The thinking level is fitted to it."""
        self._check_open()
        self.session.append_model_change(model.provider, model.id)
        previous, self.agent.model = self.agent.model, model
        await self.publish(ModelSelect(model, previous, source))
        await self.set_thinking_level(self.thinking_level)

    @property
    def thinking_level(self) -> ThinkingLevel:
        return self.agent.thinking_level

    async def set_thinking_level(self, level: ThinkingLevel) -> None:
        """Use `level`, fitted to the model, from the next request on; a change is told and stored."""
        change = self.use_thinking_level(level)
        if change is not None:
            await self.publish(change)

    def use_thinking_level(self, level: ThinkingLevel) -> ThinkingLevelSelect | None:
        """`set_thinking_level` without telling: return the event for the caller to publish, if it is a change."""
        self._check_open()
        previous, level = self.thinking_level, clamp_level(self.model, level)
        if level == previous:
            return None
        self.session.append_thinking_level_change(level)
        self.agent.thinking_level = level
        return ThinkingLevelSelect(level, previous)

    @property
    def options(self) -> StreamOptions:
        """How requests are made; a change counts from the next run on."""
        return self.agent.config.options

    @options.setter
    def options(self, options: StreamOptions) -> None:
        self.agent.config = replace(self.agent.config, options=options)

    @property
    def tools(self) -> Sequence[AgentTool]:
        """All tools that exist here, active or not."""
        return tuple(self._tools.values())

    @property
    def active_tools(self) -> Sequence[str]:
        return tuple(self._active)

    def set_tools(self, tools: Sequence[AgentTool], active: Sequence[str] | None = None) -> None:
        """Replace the tools; `active` as in `set_active_tools`, None keeps the names that are active."""
        self._tools = {tool.name: tool for tool in tools}
        self.set_active_tools(self._active if active is None else active)

    def set_active_tools(self, names: Sequence[str]) -> None:
        """Offer these tools from the next request on, in this order. Unknown names are left out."""
        self._active = [name for name in dict.fromkeys(names) if name in self._tools]
        self.agent.tools = self._active_tools()

    def _active_tools(self) -> Sequence[AgentTool]:
        return tuple(self._tools[name] for name in self._active if name in self._tools)

    async def build_prompt(self, appended: Sequence[str] = ()) -> tuple[str, PromptInputs]:
        """Build the system prompt from its parts as they are now."""
        inputs = await self.prompt_parts.inputs(self.environment.cwd, self._active_tools(), appended)
        return system_prompt(inputs), inputs

    # ---- the session

    async def append(self, entry: EntryDraft | BaseMessage, when: Literal["now", "idle"] = "now") -> str | None:
        """Append an entry at the leaf. Return its id, or None if it waits.

        "now": at once, but an entry that the model sees waits for the end of the present turn, so that no call is
        parted from its result. "idle": when what is under way settles. Raises `SessionError`.
        """
        if self._closed:
            raise HarnessClosed(CLOSED)
        entry_id, events = self.appender.place(entry, when)
        for event in events:
            await self.publish(event)
        return entry_id

    # ---- compaction and the tree

    @property
    def auto_compaction(self) -> bool:
        """Whether compaction happens by itself."""
        return self.compactor.settings().enabled

    @property
    def is_compacting(self) -> bool:
        return self.compactor.running

    def stats(self) -> SessionStats:
        """Return what the session has used, over all branches, and how full the window is."""
        return SessionStats(self.session.id, self.session.path, self.session.totals(), self.context_usage())

    def context_usage(self) -> ContextUsage:
        """Return how full the model's window is."""
        return self.context.usage()

    async def compact(self, instructions: str | None = None) -> CompactionResult:
        """Compact now, whatever the settings say; a run under way is aborted first.

        `instructions` say what the summary should dwell on. Raises `NothingToDo`, `Cancelled`, `CompactionFailed`.
        """
        self._check_open()
        if self._slot.running == "a run":
            await self.abort()

        async def work(signal: AbortSignal) -> CompactionResult:
            result = await self.compactor.compact("manual", signal, instructions)
            assert result is not None, "a manual compaction succeeds or raises"
            return result

        return await self._beside_runs("a compaction", work)

    async def navigate_tree(
        self,
        target_id: str,
        *,
        summarize: bool = False,
        custom_instructions: str | None = None,
        replace_instructions: bool = False,
        label: str | None = None,
    ) -> NavigationResult:
        """Move the leaf to an entry: to before it if it is a user's or a custom message, whose text comes back.

        With `summarize` the branch that is left is summarized at the new place. Raises `UnknownTarget`, `HarnessBusy`,
        `CompactionFailed`.
        """
        from piolet.harness.navigation import navigate

        self._check_open()

        async def work(signal: AbortSignal) -> NavigationResult:
            return await navigate(
                self,
                target_id,
                signal,
                summarize=summarize,
                custom_instructions=custom_instructions,
                replace_instructions=replace_instructions,
                label=label,
            )

        return await self._beside_runs("a navigation", work)

    def fork(self, entry_id: str, position: Literal["before", "at"] = "before") -> Session:
        """Write a new session with the branch up to an entry and return it; this harness keeps its own.

        "before" takes a user message only, and ends before it. Raises `SessionError`.
        """
        from piolet.harness.session.copying import clone, fork

        return fork(self.session, entry_id)[0] if position == "before" else clone(self.session, entry_id)

    # ---- events

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call `listener` (sync or async) with every event, after storing; return a function that ends it.

        One that raises is reported as a failure of the hook with the event's name and is skipped.
        """
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener) if listener in self._listeners else None

    async def publish(self, event: HarnessEvent, signal: AbortSignal | None = None) -> None:
        """Tell the handlers registered under the event's name, then the listeners. `signal`: of the run, if it is
        over already."""
        signal = signal or self._slot.signal
        if event.type not in ASKED_AT_HOOK and self.hooks.wanted(event.type):
            await self.hooks.run(Hook(event.type), event, signal)
        for listener in tuple(self._listeners):
            await self.hooks.tell(event.type, listener, event, signal)

    # ---- closing

    async def close(self) -> None:
        """Stop what is under way, then close the session. The environment belongs to whoever made it.

        Messages for the next turn are stored. Raises `SessionError` if something could not be; the session is closed
        all the same.
        """
        if self._slot.inside:
            raise HarnessBusy(f"Cannot close inside of {self.operation or 'an operation'}: return first")
        self._closing = True
        self._slot.abort("closed")
        await self.wait_idle()
        if self._closed:
            return
        self._closed = True
        self.recorder.begin()
        with self.recorder.recording():
            for message in self.agent.take_next_turn():
                self.recorder.append(message)
            await self.appender.flush_idle()
        self.session.close()
        if self.recorder.failure is not None:
            raise self.recorder.failure

    # ---- in a run

    async def _run(self, prompts: Sequence[BaseMessage]) -> RunResult:
        async def work(signal: AbortSignal) -> RunResult:
            drive = self._drive = Drive(self, signal)
            try:
                return await drive.run(prompts)
            finally:
                if self._drive is drive:  # a handler of its last event may have started the next run
                    self._drive = None

        return await self._operate("a run", work)

    async def _operate(self, name: str, work: Callable[[AbortSignal], Awaitable[T]]) -> T:
        self._check_free(name)
        self.recorder.begin()
        return await self._slot.run(name, work)

    async def _beside_runs(self, name: str, work: Callable[[AbortSignal], Awaitable[T]]) -> T:
        """Operate, then append what waited for the end."""

        async def whole(signal: AbortSignal) -> T:
            try:
                return await work(signal)
            finally:
                await self.appender.flush_idle()

        return await self._operate(name, whole)

    def _check_free(self, wanted: str) -> None:
        self._check_open()
        try:
            self._slot.check_free(wanted)
        except Busy as error:
            raise HarnessBusy(str(error)) from None

    async def ask(self, model: Model, context: Context, options: StreamOptions) -> AssistantMessage:
        """Send one request beside the conversation and return the answer."""
        return await self._open_stream(model, context, options).result()

    def release(self) -> None:
        """The run is settled: the next may start while the listeners are told."""
        self._slot.release()

    @contextmanager
    def retry_wait(self, signal: AbortSignal) -> Iterator[AbortSignal]:
        """A signal that `abort_retry` sets, and the abort of the run."""
        self._retry_wait = AbortController(signal)
        try:
            yield self._retry_wait.signal
        finally:
            self._retry_wait.close()
            self._retry_wait = None

    @property
    def asked_wait_ms(self) -> int | None:
        """The wait that the server asked for with the last failed request."""
        return self._stream.retry_after_ms if self._stream else None

    def _open_stream(self, model: Model, context: Context, options: StreamOptions) -> AssistantStream:
        self._stream = self._models.stream(model, context, self.bridge.request_options(options))
        return self._stream

    async def _finalize(self, message: BaseMessage) -> BaseMessage:
        stored = self.recorder.entry_id(message) is not None
        return message if stored else await self.bridge.finalize_message(message)

    async def _prepare_next_turn(self, turn: Turn) -> NextTurn | None:
        return await self._drive.prepare_next_turn(turn) if self._drive else None

    async def _should_stop(self, turn: Turn) -> bool:
        return self._drive is not None and self._drive.should_stop(turn)

    async def _on_agent_event(self, event: AgentEvent) -> None:
        if self._drive is not None:
            await self._drive.on_agent_event(event)
        else:
            await self.publish(event)

    def _check_open(self) -> None:
        if self._closing:
            raise HarnessClosed(CLOSED)
