"""``AgentSession``: one open session of the product. It owns an `AgentHarness` and adds what a product needs:
commands, expansion of skills and templates, credentials, the settings. Nothing that the harness does is done again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

from piolet.app.prompt import PromptRejected, UserPrompt
from piolet.app.services import Services
from piolet.base.ids import now_ms
from piolet.harness.drive import RunResult
from piolet.harness.errors import HarnessBusy
from piolet.harness.harness import AgentHarness
from piolet.harness.session.entries import Header
from piolet.harness.session.session import Session
from piolet.llm.credentials.errors import MissingCredentials
from piolet.llm.messages import AssistantMessage, BaseMessage, TextContent, ThinkingLevel, UserMessage
from piolet.llm.model import Model, ModelCost
from piolet.llm.patterns import ScopedModel
from piolet.llm.provider_table import BUILTIN_PROVIDERS

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
    def is_streaming(self) -> bool:
        return self.harness.operation == "a run"

    def was_dropped(self, message: AssistantMessage) -> bool:
        """Whether `message` is no longer in the context: it failed in a way that recovery took over."""
        return message not in self.harness.agent.messages

    # ---- prompts

    async def prompt(
        self,
        prompt: UserPrompt | str,
        *,
        behavior: Behavior | None = None,
        on_accepted: Callable[[Disposition], None] | None = None,
    ) -> RunResult | None:
        """Send a prompt as typed. Return what the run gave, or None if none was started for it.

        While a run is under way `behavior` says how to queue it. `on_accepted` is called once, before the first event
        of the run. Raises `PromptRejected`.
        """
        if isinstance(prompt, str):
            prompt = UserPrompt(prompt)
        accepted = on_accepted or (lambda disposition: None)
        if self.is_streaming:
            if behavior is None:
                raise PromptRejected(BUSY)
            await self.queue(prompt, behavior)
            accepted("queued")
            return None
        self._check_model()
        accepted("started")
        try:
            return await self.harness.prompt(self._message(prompt))
        except HarnessBusy as error:
            raise PromptRejected(str(error)) from None

    async def queue(self, prompt: UserPrompt, behavior: Behavior) -> None:
        """Put a prompt into the steering or the follow-up queue."""
        message = self._message(prompt)
        await (self.harness.steer(message) if behavior == "steer" else self.harness.follow_up(message))

    def _message(self, prompt: UserPrompt) -> BaseMessage:
        return UserMessage([TextContent(prompt.text), *prompt.images], now_ms())

    def _check_model(self) -> None:
        model = self.model
        if model is None:
            raise PromptRejected("No model selected. Choose one with --model PROVIDER/ID, or log in: piolet auth login")
        if not self.services.models.has_configured_auth(model):
            builtin = BUILTIN_PROVIDERS.get(model.provider)
            raise PromptRejected(str(MissingCredentials(model.provider, builtin.key_env if builtin else ())))

    # ---- ending

    async def dispose(self) -> None:
        """Stop what is under way and close the session."""
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
