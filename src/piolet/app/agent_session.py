"""``AgentSession``: one open session of the product. It owns an `AgentHarness` and adds what a product needs:
commands, expansion of skills and templates, credentials, the settings. Nothing that the harness does is done again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Literal, TypeAlias

from msgspec.structs import replace

from piolet.agent.queues import QueueMode
from piolet.app.prompt import PromptRejected, UserPrompt
from piolet.app.services import Services
from piolet.app.settings import Settings
from piolet.app.user_shell import UserShell
from piolet.base.ids import now_ms
from piolet.harness.drive import RunResult
from piolet.harness.errors import HarnessBusy, UnknownTarget
from piolet.harness.events import CompactionResult, SessionInfoChanged
from piolet.harness.harness import AgentHarness
from piolet.harness.messages import BashExecutionMessage
from piolet.harness.session.copying import fork_points
from piolet.harness.session.entries import Header
from piolet.harness.session.session import Session
from piolet.harness.stats import SessionStats
from piolet.llm.credentials.errors import MissingCredentials
from piolet.llm.messages import AssistantMessage, BaseMessage, TextContent, ThinkingLevel, UserMessage, text_of
from piolet.llm.model import Model, ModelCost
from piolet.llm.patterns import ScopedModel
from piolet.llm.provider_table import BUILTIN_PROVIDERS
from piolet.llm.thinking import supported_levels

Behavior: TypeAlias = Literal["steer", "follow_up"]
Disposition: TypeAlias = Literal["started", "queued", "handled"]

#: Stands where no model is selected.
NO_MODEL = Model("", "", "", "", "", False, ["text"], ModelCost(), 0, 0)

BUSY = "Agent is already processing. Specify streamingBehavior ('steer' or 'followUp') to queue the message."


class AgentSession:
    """See the module. Made by a `Runtime`; hold it for one call only, since the runtime may replace it."""

    def __init__(self, services: Services, harness: AgentHarness, scope: Sequence[ScopedModel] = ()) -> None:
        self.services = services
        self.harness = harness
        self.scope = scope
        self._shell = UserShell(services)
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
        return self.harness.operation == "a run"

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
        return fork_points(self.session)

    # ---- prompts

    async def prompt(
        self,
        prompt: UserPrompt | str,
        *,
        behavior: Behavior | None = None,
        on_accepted: Callable[[Disposition], Awaitable[None]] | None = None,
    ) -> RunResult | None:
        """Send a prompt as typed. Return what the run gave, or None if none was started for it.

        While a run is under way `behavior` says how to queue it. `on_accepted` is awaited once, before the first event
        of the run. Raises `PromptRejected`.
        """
        if isinstance(prompt, str):
            prompt = UserPrompt(prompt)
        if self.is_streaming or self.harness.is_compacting:
            if behavior is None and self.harness.is_compacting:
                behavior = "follow_up"
            if behavior is None:
                raise PromptRejected(BUSY)
            disposition = await self.queue(prompt, behavior)
            if on_accepted:
                await on_accepted(disposition)
            return None
        self._check_model()
        if on_accepted:
            await on_accepted("started")
        try:
            return await self.harness.prompt(self._message(prompt))
        except HarnessBusy as error:
            raise PromptRejected(str(error)) from None

    async def compact(self, instructions: str | None = None) -> CompactionResult:
        """Compact now. Prompts that came meanwhile are sent afterwards. Raises as the harness does."""
        if self.model is None:
            raise PromptRejected("No model selected: nothing can write the summary")
        try:
            return await self.harness.compact(instructions)
        finally:
            if self.pending_messages and self.harness.operation is None:
                self._sending = asyncio.create_task(self.harness.continue_())

    async def queue(self, prompt: UserPrompt, behavior: Behavior) -> Disposition:
        """Put a prompt into the steering or the follow-up queue."""
        message = self._message(prompt)
        await (self.harness.steer(message) if behavior == "steer" else self.harness.follow_up(message))
        return "queued"

    async def clear_queue(self) -> tuple[list[str], list[str]]:
        """Empty both queues and return the texts that were in them."""
        cleared = await self.harness.clear_queue()
        steering, follow_up = (
            [text_of(getattr(message, "content", "")) for message in messages]
            for messages in (cleared.steering, cleared.follow_up)
        )
        return steering, follow_up

    def set_queue_mode(self, queue: Literal["steering", "follow_up"], mode: QueueMode) -> None:
        """Deliver a queue whole or one message a turn; saved in the user's settings. Raises `SettingsError`."""
        if queue == "steering":
            self.harness.agent.steering.mode = mode
            self.services.files.set(Settings.steering_mode, mode)
        else:
            self.harness.agent.follow_ups.mode = mode
            self.services.files.set(Settings.follow_up_mode, mode)

    def _message(self, prompt: UserPrompt) -> BaseMessage:
        return UserMessage([TextContent(prompt.text), *prompt.images], now_ms())

    def _check_model(self) -> None:
        model = self.model
        if model is None:
            raise PromptRejected("No model selected. Choose one with --model PROVIDER/ID, or log in: piolet auth login")
        if not self.services.models.has_configured_auth(model):
            builtin = BUILTIN_PROVIDERS.get(model.provider)
            raise PromptRejected(str(MissingCredentials(model.provider, builtin.key_env if builtin else ())))

    # ---- model and thinking

    async def set_model(self, provider: str, model_id: str) -> Model:
        """Use another model. Raises `UnknownTarget` if there is none with credentials."""
        models = self.services.models
        model = models.find(provider, model_id) if models.has_configured_auth(provider) else None
        if model is None:
            raise UnknownTarget(f"Model not found: {provider}/{model_id}")
        await self.harness.set_model(model)
        return model

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

    @auto_retry.setter
    def auto_retry(self, enabled: bool) -> None:
        self.harness.retry = replace(self.harness.retry, enabled=enabled)

    @property
    def auto_compaction(self) -> bool:
        return self.harness.auto_compaction

    @auto_compaction.setter
    def auto_compaction(self, enabled: bool) -> None:
        self.harness.compaction = self.harness.compaction.with_enabled(enabled)

    # ---- the user's own commands

    async def bash(
        self, command: str, *, exclude: bool = False, on_output: Callable[[str], Awaitable[None]] | None = None
    ) -> BashExecutionMessage:
        """Run a command of the user (``!``) in the environment, beside any run, and put it into the session.

        `exclude` keeps it from the model (``!!``). Raises `PromptRejected` if it cannot be started or one is running.
        """
        done = await self._shell.run(command, exclude=exclude, on_output=on_output)
        await self.harness.append(done, when="idle")
        return done

    def abort_bash(self) -> None:
        """Kill the user's command that is running, if any."""
        self._shell.abort()

    # ---- the session

    async def set_name(self, name: str) -> None:
        """Name the session; an empty name clears."""
        self.session.append_session_info(name)
        await self.harness.publish(SessionInfoChanged(self.session.name))

    def stats(self) -> SessionStats:
        """Return what the session has used, over all branches, and how full the window is."""
        usage = None if self.model is None else self.harness.context_usage()
        return SessionStats(self.session.id, self.session.path, self.session.totals(), usage)

    async def dispose(self) -> None:
        """Stop what is under way and close the session."""
        self._shell.abort()
        await self.harness.close()


def tool_names(available: Sequence[str], services: Services) -> list[str]:
    """Return the names of the tools to offer at the start, by the command line and the settings."""
    from fnmatch import fnmatchcase

    selection, defaults = services.options.tools, services.settings.default_tools
    if selection.none:
        names: list[str] = []
    elif selection.only is None:
        names = [name for name in available if name in defaults] if selection.builtin else []
    elif all(item[0] in "+-" for item in selection.only) and selection.only:
        removed = {item[1:] for item in selection.only if item[0] == "-"}
        added = [item[1:] for item in selection.only if item[0] == "+"]
        names = [name for name in [*defaults, *added] if name not in removed]
    else:
        names = [name for pattern in selection.only for name in available if fnmatchcase(name, pattern)]
    excluded = selection.exclude
    return [
        name
        for name in dict.fromkeys(names)
        if name in available and not any(fnmatchcase(name, pattern) for pattern in excluded)
    ]
