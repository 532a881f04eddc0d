"""``Runtime``: which session is open, in which folder. It replaces the `AgentSession`: dispose first, then build."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from piolet.app.agent_session import NO_MODEL, AgentSession, tool_names
from piolet.app.model_choice import choose_start
from piolet.app.options import (
    ContinueSession,
    ExactSession,
    ForkSession,
    NewSession,
    OpenSession,
    RuntimeOptions,
    SessionChoice,
)
from piolet.app.services import Services, load_services
from piolet.harness.compaction.compactor import CompactionPolicy
from piolet.harness.events import HarnessEvent
from piolet.harness.harness import AgentHarness
from piolet.harness.hooks import HookFailure, Hooks
from piolet.harness.retry import RetryPolicy
from piolet.harness.session.copying import clone, fork, fork_from
from piolet.harness.session.session import Session
from piolet.harness.tools.options import ImageSettings, ToolOptions
from piolet.harness.tools.registry import built_in_tools
from piolet.llm.model import Model, StreamOptions

Listener: TypeAlias = Callable[[HarnessEvent], Awaitable[None] | None]


class Runtime:
    """Holds one `AgentSession` at a time. Listeners stay when it is replaced."""

    def __init__(self, services: Services) -> None:
        self.services = services
        self._listeners: list[Listener] = []
        self._session: AgentSession | None = None
        #: Told of handlers that raise or are slow; a mode sets it.
        self.on_failure: Callable[[HookFailure], None] | None = None

    @classmethod
    async def create(cls, options: RuntimeOptions, services: Services | None = None) -> Runtime:
        """Load the services of the folder, unless they are given, and open the session that `options` choose.

        Raises `SessionError`, `NoSuchModel`.
        """
        services = services or load_services(options)
        runtime = cls(services)
        session = open_session(services, options.session)
        if options.session_name:
            session.append_session_info(options.session_name)
        await runtime._bind(session)
        return runtime

    @property
    def session(self) -> AgentSession:
        assert self._session is not None, "a runtime has a session between create and dispose"
        return self._session

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call `listener` with the events of whatever session is open; return a function that ends it."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener) if listener in self._listeners else None

    # ---- replacing the session

    async def new_session(self, parent_session: str | None = None) -> bool:
        """Open a new session in this folder; False if a handler refused."""
        place = self.services.sessions
        in_memory = self.session.session.path is None
        await self._replace(
            lambda: (
                Session.in_memory(place.cwd)
                if in_memory
                else Session.create(place.cwd, place.folder, parent_session=parent_session)
            )
        )
        return True

    async def switch_session(self, path: str) -> bool:
        """Open the session file at `path` (a missing one becomes a new session there); False if a handler refused."""
        await self._replace(lambda: Session.open(path))
        return True

    async def fork(self, entry_id: str) -> str | None:
        """Open a copy of the branch up to before a user message, and return its text; None if a handler refused.

        Raises `SessionError` if the entry is no user message or nothing is saved yet.
        """
        forked, text = fork(self.session.session, entry_id)
        await self._replace(lambda: forked)
        return text

    async def clone(self) -> bool:
        """Open a copy of the active branch; False if a handler refused. Raises `SessionError`."""
        cloned = clone(self.session.session)
        await self._replace(lambda: cloned)
        return True

    async def _replace(self, make: Callable[[], Session]) -> None:
        """Open another session: make it first, so that a failure leaves the old one, then dispose of that and build."""
        session = make()
        await self.session.dispose()
        await self._bind(session)

    def interrupt(self) -> None:
        """Ask what is under way to stop; do not wait."""
        self.session.harness.request_abort()

    async def dispose(self) -> None:
        """Stop what is under way, close the session and the connections."""
        if self._session is not None:
            await self._session.dispose()
            self._session = None
        await self.services.models.aclose()
        await self.services.environment.close()

    async def _bind(self, session: Session) -> None:
        self._session = build(self.services, session, self._report)
        self._session.harness.subscribe(self._tell)

    def _report(self, failure: HookFailure) -> None:
        if self.on_failure is not None:
            self.on_failure(failure)

    async def _tell(self, event: HarnessEvent) -> None:
        for listener in tuple(self._listeners):
            result = listener(event)
            if result is not None:
                await result


def open_session(services: Services, choice: SessionChoice) -> Session:
    """Return the session that `choice` means. Raises `SessionError`."""
    place = services.sessions
    cwd, folder = place.cwd, place.folder
    match choice:
        case NewSession(in_memory=True):
            return Session.in_memory(cwd, choice.session_id)
        case NewSession():
            return Session.create(cwd, folder, choice.session_id, choice.parent_session)
        case ContinueSession():
            latest = place.most_recent()
            return Session.open(latest) if latest else Session.create(cwd, folder)
        case OpenSession():
            return Session.open(str(choice.path), str(choice.cwd_override) if choice.cwd_override else None)
        case ExactSession():
            known = place.find_id(choice.session_id)
            return Session.open(known) if known else Session.create(cwd, folder, choice.session_id)
        case ForkSession():
            return fork_from(str(choice.path), cwd, folder, choice.session_id)


def build(
    services: Services, session: Session, on_failure: Callable[[HookFailure], None] | None = None
) -> AgentSession:
    """Return an `AgentSession` over `session`: its model, its tools, its hooks."""
    settings = services.settings
    context = session.build_context()
    start = choose_start(services.options, settings, services.models, context)
    services.notices.extend(start.warnings)
    model = start.model
    if services.options.api_key and model is not None:
        services.models.set_runtime_key(model.provider, services.options.api_key)
    tools = built_in_tools(services.environment, _tool_options(services, session, lambda: harness))
    retry = settings.retry
    provider = settings.provider_retry
    harness = AgentHarness(
        models=services.models,
        model=model or NO_MODEL,
        environment=services.environment,
        session=session,
        tools=list(tools.values()),
        active_tools=tool_names(list(tools), services),
        prompt=services.prompt_parts(),
        thinking_level=start.thinking,
        retry=RetryPolicy(retry.enabled, retry.max_retries, retry.base_delay_ms, retry.max_agent_delay_ms),
        compaction=_compaction_policy(services),
        hooks=Hooks(on_failure),
        options=StreamOptions(
            session_id=session.id,
            thinking_budgets=settings.thinking_budgets,
            timeout_ms=provider.timeout_ms,
            idle_timeout_ms=settings.http_idle_timeout_ms,
            max_retries=provider.max_retries or 0,
            max_retry_delay_ms=provider.max_retry_delay_ms,
        ),
    )
    if model is not None and context.model != (model.provider, model.id):
        session.append_model_change(model.provider, model.id)
    if not context.messages or harness.thinking_level != context.thinking_level:
        session.append_thinking_level_change(harness.thinking_level)
    return AgentSession(services, harness, start.scope)


def _compaction_policy(services: Services) -> CompactionPolicy:
    """Compaction as the settings say; an unusable ``piolet.compactionModel`` is told of once."""
    settings, models = services.settings, services.models

    def summary_model() -> Model | None:
        provider, _, model_id = (settings.compaction_model or "").partition("/")
        if not provider:
            return None
        model = models.find(provider, model_id) if models.has_configured_auth(provider) else None
        if model is None:
            services.tell_once(f"{settings.compaction_model} cannot write summaries: unknown, or without credentials")
        return model

    return CompactionPolicy(
        settings=lambda model: settings.compaction_for(model.key),
        summary_model=summary_model,
        branch_reserve_tokens=lambda: settings.branch_summary.reserve_tokens,
    )


def _tool_options(services: Services, session: Session, harness: Callable[[], AgentHarness]) -> ToolOptions:
    """What the built-in tools ask at each call."""
    settings = services.settings

    def blind_model() -> str | None:
        model = harness().model
        return None if "image" in model.input else model.id

    def variables() -> dict[str, str | None]:
        return {
            "PI_SESSION_ID": session.id,
            "PI_SESSION_FILE": session.path if session.saved else None,
            "PI_PROVIDER": harness().model.provider,
            "PI_MODEL": harness().model.id,
            "PI_REASONING_LEVEL": harness().thinking_level,
        }

    return ToolOptions(
        image_settings=lambda: ImageSettings(auto_resize=settings.image_auto_resize),
        blind_model=blind_model,
        shell_path=lambda: settings.shell_path,
        command_prefix=lambda: settings.shell_command_prefix,
        command_variables=variables,
    )
