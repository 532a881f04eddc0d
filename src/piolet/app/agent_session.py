"""``AgentSession``: one open session of the product. It owns an `AgentHarness` and adds what a product needs:
commands, expansion of skills and templates, credentials, the settings. Nothing that the harness does is done again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Literal, TypeAlias

from msgspec.structs import replace

from piolet.agent.queues import QueueMode
from piolet.agent.tools import AgentTool
from piolet.app.commands import Commands
from piolet.app.hook_points import INPUT, USER_BASH, Behavior, InputEvent, Source, UserBash, UserBashResult
from piolet.app.prompt import PromptRejected, UserPrompt, fitted
from piolet.app.services import Services
from piolet.app.settings import Settings
from piolet.app.user_shell import UserShell, executed
from piolet.base.ids import now_ms
from piolet.harness.drive import RunResult
from piolet.harness.errors import Cancelled, HarnessError, UnknownTarget
from piolet.harness.events import CompactionResult, SessionInfoChanged
from piolet.harness.harness import AgentHarness
from piolet.harness.messages import BashExecutionMessage
from piolet.harness.session.entries import Header
from piolet.harness.session.session import Session
from piolet.harness.stats import SessionStats
from piolet.harness.tools.options import ImageSettings
from piolet.llm.credentials.errors import MissingCredentials
from piolet.llm.messages import AssistantMessage, BaseMessage, TextContent, ThinkingLevel, UserMessage, text_of
from piolet.llm.model import Model, ModelCost
from piolet.llm.patterns import ScopedModel
from piolet.llm.provider_table import BUILTIN_PROVIDERS
from piolet.llm.thinking import supported_levels

Disposition: TypeAlias = Literal["started", "queued", "handled"]

#: Stands where no model is selected.
NO_MODEL = Model("", "", "", "", "", False, ["text"], ModelCost(), 0, 0)

NO_MODEL_SELECTED = (
    "No model selected: none was named, and neither the environment nor auth.json nor models.json has credentials for "
    "any. Set a key (export ANTHROPIC_API_KEY=...), log in (piolet auth login PROVIDER), choose a model "
    "(--model PROVIDER/ID), or look around without one (--model demo/scripted)."
)
BUSY = "Agent is already processing. Specify streamingBehavior ('steer' or 'followUp') to queue the message."


class AgentSession:
    """See the module. Made by a `Runtime`; hold it for one call only, since the runtime may replace it."""

    def __init__(
        self,
        services: Services,
        harness: AgentHarness,
        scope: Sequence[ScopedModel] = (),
        built_in_tools: Sequence[AgentTool] = (),
    ) -> None:
        self.services = services
        self.harness = harness
        self.scope = scope
        self.built_in_tools = built_in_tools
        self.commands = Commands(lambda: self.services.resources)
        self._shell = UserShell(lambda: self.services)
        self._starting: asyncio.Future[None] | None = None
        self._sending: asyncio.Task[RunResult] | None = None

    # ---- what it is

    @property
    def session(self) -> Session:
        return self.harness.session

    @property
    def header(self) -> Header:
        return self.session.header

    @property
    def model(self) -> Model | None:
        """The selected model; None if there is none."""
        return None if self.harness.model is NO_MODEL else self.harness.model

    @property
    def thinking_level(self) -> ThinkingLevel:
        return self.harness.thinking_level

    @property
    def thinking_levels(self) -> list[ThinkingLevel]:
        """The levels that the model has."""
        return supported_levels(self.harness.model)

    @property
    def is_streaming(self) -> bool:
        return self._starting is not None or self.harness.operation == "a run"

    @property
    def pending_messages(self) -> int:
        """How many messages wait in the queues."""
        return len(self.harness.agent.steering) + len(self.harness.agent.follow_ups)

    def was_dropped(self, message: AssistantMessage) -> bool:
        """Whether `message` is no longer in the context: it failed in a way that recovery took over."""
        return message not in self.harness.agent.messages

    def last_assistant_text(self) -> str | None:
        """The text of the last answer; None if no answer has any. Aborted ones without content do not count."""
        for message in reversed(self.harness.agent.messages):
            if isinstance(message, AssistantMessage) and (message.content or message.stop_reason != "aborted"):
                return message.text.strip() or None
        return None

    def fork_points(self) -> list[tuple[str, str]]:
        """The user messages of the active branch, root first: entry id and text."""
        from piolet.harness.session.copying import fork_points

        return fork_points(self.session)

    # ---- prompts

    async def prompt(
        self,
        prompt: UserPrompt | str,
        *,
        behavior: Behavior | None = None,
        source: Source = "interactive",
        on_accepted: Callable[[Disposition], Awaitable[None]] | None = None,
        expand: bool = True,
    ) -> RunResult | None:
        """Send a prompt as typed. Return what the run gave, or None if none was started for it.

        A command of an extension runs at once. While a run is under way `behavior` says how to queue the prompt; one
        that comes during a compaction is sent after it. `on_accepted` is awaited once, before the first event of the
        run. `expand` False: it is the text that it is, no command, skill or template. Raises `PromptRejected`.
        """
        prompt = UserPrompt(prompt) if isinstance(prompt, str) else prompt
        is_command = expand and await self._run_command(prompt.text)
        ready = None if is_command else await self._prepare(prompt, source, behavior, expand=expand)
        if ready is None:
            await _tell(on_accepted, "handled")
            return None
        if self.is_streaming or self.harness.is_compacting:
            if behavior is None and not self.harness.is_compacting:
                raise PromptRejected(BUSY)
            await self._enqueue(ready, behavior or "follow_up")
            await _tell(on_accepted, "queued")
            return None
        return await self._run(_message(ready), on_accepted)

    async def queue(self, prompt: UserPrompt, behavior: Behavior, source: Source = "interactive") -> Disposition:
        """Put a prompt into the steering or the follow-up queue. Raises `PromptRejected`."""
        if self.commands.find(prompt.text) is not None:
            name = prompt.text.split(maxsplit=1)[0]
            raise PromptRejected(f'Extension command "{name}" cannot be queued. Send it as a prompt.')
        ready = await self._prepare(prompt, source, behavior)
        if ready is None:
            return "handled"
        await self._enqueue(ready, behavior)
        return "queued"

    async def abort(self) -> None:
        """Stop what is under way and return when it has settled. Queued messages stay queued."""
        if self._starting is not None:  # a prompt has been accepted, its run begins in the next moment
            await asyncio.wait([self._starting])
        await self.harness.abort()

    def request_abort(self) -> None:
        """Ask what is under way to stop; do not wait."""
        if self._starting is not None:
            self._starting.add_done_callback(lambda _: self.harness.request_abort())
        self.harness.request_abort()

    async def compact(self, instructions: str | None = None) -> CompactionResult:
        """Compact now. Prompts that came meanwhile are sent afterwards, unless it was cancelled.

        Raises `PromptRejected` without a model, else as the harness does.
        """
        if self.model is None:
            raise PromptRejected(NO_MODEL_SELECTED)
        try:
            result = await self.harness.compact(instructions)
        except Cancelled:
            raise
        except HarnessError:
            self._send_queued()
            raise
        self._send_queued()
        return result

    async def clear_queue(self) -> tuple[list[str], list[str]]:
        """Empty both queues and return the texts that were in them."""
        cleared = await self.harness.clear_queue()
        steering, follow_up = (
            [text_of(getattr(message, "content", "")) for message in messages]
            for messages in (cleared.steering, cleared.follow_up)
        )
        for message in cleared.next_turn:  # not queued for a run: it goes with the next prompt, whoever writes it
            self.harness.next_turn(message)
        return steering, follow_up

    def set_queue_mode(self, queue: Literal["steering", "follow_up"], mode: QueueMode) -> None:
        """Deliver a queue whole or one message a turn; saved in the user's settings. Raises `SettingsError`."""
        if queue == "steering":
            self.harness.agent.steering.mode = mode
            self.services.files.set(Settings.steering_mode, mode)
        else:
            self.harness.agent.follow_ups.mode = mode
            self.services.files.set(Settings.follow_up_mode, mode)

    def go_back_to(self, leaf: str | None) -> None:
        """Make `leaf` the leaf again, since what came behind it is only in memory: no file can be made. Nothing is told
        of it. Raises `PromptRejected` if something is under way."""
        self.check_idle("go back")
        if leaf is None:
            self.session.reset_leaf()
        else:
            self.session.branch(leaf)
        self.harness.context.rebuild()

    def check_idle(self, wanted: str) -> None:
        """Raise `PromptRejected` if something is under way that `wanted` would disturb."""
        operation = "a run" if self.is_streaming else self.harness.operation
        if operation is not None:
            raise PromptRejected(f"Cannot {wanted} while {operation} is under way")

    async def _run_command(self, text: str) -> bool:
        """Run the command of an extension that `text` calls, if it calls one; return whether it does."""
        found = self.commands.find(text)
        if found is None:
            return False
        extension, rest = found
        name = f"command:{extension.command.name}"
        await self.harness.hooks.tell(name, lambda _: extension.run(rest), text, None, extension.owner)
        return True

    async def _prepare(
        self, prompt: UserPrompt, source: Source, behavior: Behavior | None, *, expand: bool = True
    ) -> UserPrompt | None:
        """Ask the input handlers, then expand skills and templates, fit images; None if a handler took the prompt."""
        hooks = self.harness.hooks
        if hooks.wanted(INPUT):
            event = InputEvent(prompt.text, prompt.images, source, behavior if self.is_streaming else None)
            event = await hooks.run(INPUT, event)
            if event.handled:
                return None
            prompt = UserPrompt(event.text, event.images)
        if expand and prompt.text.startswith("/"):
            try:
                prompt = UserPrompt(self.services.resources.expand(prompt.text), prompt.images)
            except OSError as error:
                raise PromptRejected(f"{error.filename} cannot be read: {error.strerror}") from None
        if not prompt.images:
            return prompt
        settings = ImageSettings(auto_resize=self.services.settings.image_auto_resize)
        return await asyncio.to_thread(fitted, prompt, settings)

    async def _enqueue(self, prompt: UserPrompt, behavior: Behavior) -> None:
        message = _message(prompt)
        await (self.harness.steer(message) if behavior == "steer" else self.harness.follow_up(message))

    def begin_run(self, message: BaseMessage) -> asyncio.Task[RunResult]:
        """Start a run with `message`; from now on the session is streaming. Raises `PromptRejected`."""
        self.check_idle("send a prompt")
        self._check_model()
        starting = self._starting = asyncio.get_running_loop().create_future()

        def begun() -> None:
            if self._starting is starting:
                self._starting = None
            if not starting.done():
                starting.set_result(None)

        async def work() -> RunResult:
            begun()  # from here on the harness itself is busy: nothing is awaited in between
            return await self.harness.prompt(message)

        def ended(run: asyncio.Task[RunResult]) -> None:
            begun()
            _take_exception(run)

        run = asyncio.create_task(work())
        run.add_done_callback(ended)
        return run

    async def _run(
        self, message: BaseMessage, on_accepted: Callable[[Disposition], Awaitable[None]] | None
    ) -> RunResult:
        """Start a run and tell that the prompt was accepted; nothing else can start in between."""
        run = self.begin_run(message)
        try:
            await _tell(on_accepted, "started")
            return await run
        except HarnessError as error:
            raise PromptRejected(str(error)) from None
        finally:
            run.cancel()

    def _send_queued(self) -> None:
        """Start a run for the messages that came during a compaction."""
        if self.pending_messages and self.harness.operation is None:
            self._sending = asyncio.create_task(self.harness.continue_())
            self._sending.add_done_callback(_take_exception)

    def _check_model(self) -> None:
        model = self.model
        if model is None:
            raise PromptRejected(NO_MODEL_SELECTED)
        status = self.services.models.auth_status(model)
        if not status.configured:
            builtin = BUILTIN_PROVIDERS.get(model.provider)
            names = builtin.key_env if builtin else ()
            raise PromptRejected(str(MissingCredentials(model.provider, names, status.source)))

    # ---- model and thinking

    async def set_model(self, provider: str, model_id: str) -> Model:
        """Use another model. Raises `UnknownTarget` if there is none with credentials."""
        models = self.services.models
        model = models.find(provider, model_id) if models.has_configured_auth(provider) else None
        if model is None:
            raise UnknownTarget(f"Model not found: {provider}/{model_id}")
        await self.harness.set_model(model)
        return model

    def drop_model(self) -> None:
        """Go on as if no model was selected, for its credentials are gone. Raises `PromptRejected` during a run."""
        self.check_idle("drop the model")
        self.harness.agent.model = NO_MODEL

    async def cycle_model(self, step: int = 1) -> Model | None:
        """Use the next model of the scope, or of all that have credentials; None if there is no other."""
        scoped = self.scope or [ScopedModel(model) for model in self.services.models.get_available()]
        if len(scoped) < 2:
            return None
        keys = [one.model.key for one in scoped]
        place = keys.index(self.harness.model.key) if self.harness.model.key in keys else -step
        chosen = scoped[(place + step) % len(scoped)]
        await self.harness.set_model(chosen.model, "cycle")
        if chosen.thinking is not None:
            await self.harness.set_thinking_level(chosen.thinking)
        return chosen.model

    async def cycle_thinking_level(self, step: int = 1) -> ThinkingLevel | None:
        """Use the next level that the model has; None if it has but one."""
        levels = self.thinking_levels
        if len(levels) < 2:
            return None
        level = levels[(levels.index(self.thinking_level) + step) % len(levels)]
        await self.harness.set_thinking_level(level)
        return level

    @property
    def auto_retry(self) -> bool:
        return self.harness.retry.enabled

    def set_auto_retry(self, enabled: bool) -> None:
        """Retry failed requests by itself or not; saved in the user's settings. Raises `SettingsError`."""
        self.harness.retry = replace(self.harness.retry, enabled=enabled)
        self.services.files.write(("retry", "enabled"), enabled)

    @property
    def auto_compaction(self) -> bool:
        return self.harness.auto_compaction

    def set_auto_compaction(self, enabled: bool) -> None:
        """Compact by itself or not; saved in the user's settings. Raises `SettingsError`."""
        self.harness.compaction = self.harness.compaction.with_enabled(enabled)
        self.services.files.write(("compaction", "enabled"), enabled)

    # ---- the user's own commands

    async def bash(
        self, command: str, *, exclude: bool = False, on_output: Callable[[str], Awaitable[None]] | None = None
    ) -> BashExecutionMessage:
        """Run a command of the user (``!``) in the environment, beside any run, and put it into the session.

        `exclude` keeps it from the model (``!!``). Extensions may run it elsewhere, or themselves. Raises
        `PromptRejected` if it cannot be started.
        """
        event = UserBash(command, exclude, self.harness.environment.cwd)
        event = await self.harness.hooks.run(USER_BASH, event)
        if event.failure is not None:
            raise PromptRejected(f"The command was not run, since an extension failed: {event.failure}")
        answer = event.answer or UserBashResult()
        if answer.result is not None:
            if on_output is not None and answer.result.output:
                await on_output(answer.result.output)
            done = executed(command, answer.result, exclude=exclude)
        else:
            done = await self._shell.run(command, answer.environment, exclude=exclude, on_output=on_output)
        await self.harness.append(done, when="idle")
        return done

    def abort_bash(self) -> None:
        """Kill the user's commands that are running."""
        self._shell.abort()

    # ---- the session

    async def set_name(self, name: str) -> None:
        """Name the session; an empty name clears."""
        self.session.append_session_info(name)
        await self.tell_name()

    async def tell_name(self) -> None:
        """Tell that the session has another name."""
        await self.harness.publish(SessionInfoChanged(self.session.name))

    def stats(self) -> SessionStats:
        """Return what the session has used, over all branches, and how full the window is."""
        usage = None if self.model is None else self.harness.context_usage()
        return SessionStats(self.session.id, self.session.path, self.session.totals(), usage)

    async def dispose(self) -> None:
        """Stop what is under way and close the session."""
        self._shell.abort()
        await self.harness.close()


def _message(prompt: UserPrompt) -> BaseMessage:
    return UserMessage([TextContent(prompt.text), *prompt.images], now_ms())


async def _tell(on_accepted: Callable[[Disposition], Awaitable[None]] | None, disposition: Disposition) -> None:
    if on_accepted is not None:
        await on_accepted(disposition)


def _take_exception(task: asyncio.Task[RunResult]) -> None:
    """What a run raises is for whoever waits for it; if nobody does any more, it is for nobody."""
    if not task.cancelled():
        task.exception()
