"""What handlers, tools and commands of extensions get beside their event (the extension specification, section 5).

A context belongs to one extension and one session; when that session is replaced or reloaded, every use of it raises
`StaleContextError`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

from msgspec import Struct

from piolet.app.extensions.definitions import ContextUsage, DeliverAs, Mode, Outcome, ToolInfo
from piolet.app.extensions.model_registry import ModelRegistry
from piolet.app.extensions.results import as_message_draft
from piolet.app.extensions.session_view import SessionView

if TYPE_CHECKING:
    from piolet.agent.tools import OnUpdate, ToolResult
    from piolet.app.agent_session import AgentSession
    from piolet.app.extensions.extension import Extension
    from piolet.app.extensions.runner import ExtensionRunner, Seat
    from piolet.app.extensions.ui import UI
    from piolet.base.abort import AbortSignal
    from piolet.harness.drafts import CustomMessageDraft
    from piolet.harness.environments.base import Environment
    from piolet.harness.events import CompactionResult
    from piolet.harness.navigation import NavigationResult
    from piolet.harness.prompt.records import PromptInputs
    from piolet.harness.session.session import Session
    from piolet.llm.messages import ThinkingLevel, UserBlock
    from piolet.llm.model import Model
    from piolet.llm.patterns import ScopedModel

WithSession: TypeAlias = "Callable[[ReplacedSessionContext], Awaitable[object] | object]"


class TrustContext(Struct, frozen=True):
    """For handlers of ``project_trust``: there is no session yet."""

    cwd: str
    mode: Mode
    has_ui: bool
    ui: UI


class ExtensionContext:
    """For handlers of events and shortcuts."""

    def __init__(self, runner: ExtensionRunner, extension: Extension) -> None:
        self._runner = runner
        self._extension = extension

    def _seat(self) -> Seat:
        return self._runner.seat(self._extension, "the context")

    @property
    def _session(self) -> AgentSession:
        return self._seat().session

    @property
    def ui(self) -> UI:
        """Questions to the user and things to show; where nobody is, every method has a defined answer."""
        return cast("UI", self._seat().ui.of(self._extension, self._extension.check))

    @property
    def mode(self) -> Mode:
        return self._runner.mode

    @property
    def has_ui(self) -> bool:
        """Whether somebody is there to answer."""
        return self.ui.has_ui

    @property
    def environment(self) -> Environment:
        """Where tools act: its files and programs. It resolves paths."""
        self._seat()
        return self._runner.environment

    @property
    def cwd(self) -> str:
        """The working folder of the environment."""
        return self.environment.cwd

    @property
    def session_manager(self) -> SessionView:
        """The session, to read."""
        session = self._session
        return SessionView(session.session, session.services.sessions.folder, self._extension.check)

    @property
    def model_registry(self) -> ModelRegistry:
        return ModelRegistry(self._session.services.models, self._extension.check)

    @property
    def model(self) -> Model | None:
        """The selected model; None if there is none."""
        return self._session.model

    @property
    def scoped_models(self) -> Sequence[ScopedModel]:
        """The models that the user cycles through; empty if all."""
        return self._session.scope

    @property
    def thinking_level(self) -> ThinkingLevel:
        return self._session.thinking_level

    @property
    def signal(self) -> AbortSignal | None:
        """The signal of the run, compaction or navigation under way."""
        return self._session.harness.signal

    def is_idle(self) -> bool:
        """Whether no run is under way."""
        return not self._session.is_streaming

    def is_project_trusted(self) -> bool:
        return self._session.services.trusted

    def abort(self) -> None:
        """Ask what is under way to stop; do not wait."""
        self._session.request_abort()

    def has_pending_messages(self) -> bool:
        """Whether messages wait in the queues."""
        return self._session.pending_messages > 0

    def shutdown(self) -> None:
        """End the program when nothing is under way."""
        self._seat().runtime.request_shutdown()

    def get_context_usage(self) -> ContextUsage | None:
        """How full the window of the model is; None without a model."""
        usage = self._session.stats().context
        return None if usage is None else ContextUsage(usage.tokens, usage.window, usage.percent)

    def compact(
        self,
        custom_instructions: str | None = None,
        on_complete: Callable[[CompactionResult], object] | None = None,
        on_error: Callable[[Exception], object] | None = None,
    ) -> None:
        """Compact in the background; a run under way is aborted first."""
        session = self._session

        async def work() -> None:
            try:
                result = await session.compact(custom_instructions)
            except Exception as error:
                if on_error is None:
                    raise
                on_error(error)
            else:
                if on_complete is not None:
                    on_complete(result)

        self._runner.outbox.later(self._extension, "compact", work())

    def get_system_prompt(self) -> str:
        """The system prompt as it was last built: of the run under way, or for the command that asks."""
        return self._session.harness.agent.system_prompt or ""


class ToolContext(ExtensionContext):
    """For tools, one for each call."""

    def __init__(self, runner: ExtensionRunner, extension: Extension, call_id: str, signal: AbortSignal) -> None:
        super().__init__(runner, extension)
        self._call_id = call_id
        self._signal = signal

    @property
    def signal(self) -> AbortSignal:
        """The signal of this call."""
        return self._signal

    @property
    def tools(self) -> Sequence[ToolInfo]:
        """The active tools."""
        self._seat()
        return [tool for tool in self._runner.tool_infos() if tool.active]

    async def execute_tool(
        self,
        name: str,
        args: Mapping[str, Any],
        signal: AbortSignal | None = None,
        on_update: OnUpdate | None = None,
    ) -> ToolResult:
        """Run an active tool, validated and with all hooks; a failure is an error result, never raised."""
        from piolet.harness.nested_calls import execute_tool

        return await execute_tool(
            self._session.harness,
            name,
            args,
            parent=self._call_id,
            signal=signal or self._signal,
            on_update=on_update,
        )


class CommandContext(ExtensionContext):
    """For commands, which may also replace the session. After that this context is stale: go on in `with_session`."""

    def get_system_prompt_options(self) -> PromptInputs:
        """What the system prompt is built from."""
        self._seat()
        return self._runner.prompt_inputs

    async def wait_for_idle(self) -> None:
        """Return when nothing is under way and nothing waits to be sent."""
        await self._seat().runtime.wait_idle()

    async def new_session(
        self,
        parent_session: str | None = None,
        setup: Callable[[Session], Awaitable[object] | object] | None = None,
        with_session: WithSession | None = None,
    ) -> Outcome:
        """Open a new session. `setup` may write into it before its extensions see it."""
        opened = await self._seat().runtime.new_session(parent_session, setup)
        return await self._replaced(opened, with_session)

    async def fork(
        self,
        entry_id: str,
        position: Literal["before", "at"] = "before",
        with_session: WithSession | None = None,
    ) -> Outcome:
        """Open a copy of the branch up to an entry. "before" takes a user message. Raises `SessionError`."""
        text = await self._seat().runtime.fork(entry_id, position)
        return await self._replaced(text is not None, with_session)

    async def switch_session(self, path: str, with_session: WithSession | None = None) -> Outcome:
        """Open another session file. Raises `SessionError`."""
        opened = await self._seat().runtime.switch_session(path)
        return await self._replaced(opened, with_session)

    async def navigate_tree(
        self,
        target_id: str,
        summarize: bool = False,
        custom_instructions: str | None = None,
        replace_instructions: bool = False,
        label: str | None = None,
    ) -> NavigationResult:
        """Move the leaf to an entry; the result also has the text of a user message that is to be written anew."""
        return await self._session.harness.navigate_tree(
            target_id,
            summarize=summarize,
            custom_instructions=custom_instructions,
            replace_instructions=replace_instructions,
            label=label,
        )

    async def reload(self) -> Outcome:
        """Load extensions, settings and resources anew. Raises `PromptRejected` while something is under way."""
        await self._seat().runtime.reload()
        return Outcome(cancelled=False)

    async def _replaced(self, opened: bool, with_session: WithSession | None) -> Outcome:
        """Let the caller go on in the session that is open now."""
        if opened and with_session is not None:
            await self._runner.go_on(self._extension, with_session)
        return Outcome(cancelled=not opened)


class ReplacedSessionContext(CommandContext):
    """For `with_session`: a context of the new session that can also send messages and wait for what they cause."""

    async def send_message(
        self,
        message: CustomMessageDraft | Mapping[str, Any],
        *,
        deliver_as: DeliverAs | None = None,
        trigger_turn: bool | None = None,
    ) -> None:
        """As ``pi.send_message``; returns when a run that it started is over."""
        self._seat()
        await self._runner.outbox.deliver(self._extension, as_message_draft(message), deliver_as, trigger_turn)

    async def send_user_message(
        self,
        content: str | Sequence[UserBlock],
        *,
        deliver_as: Literal["steer", "follow_up", "followUp"] | None = None,
        expand_prompt_templates: bool = False,
    ) -> None:
        """As ``pi.send_user_message``; returns when a run that it started is over."""
        self._seat()
        await self._runner.outbox.deliver_user(self._extension, content, deliver_as, expand=expand_prompt_templates)
