"""``ExtensionRunner``: the extensions of one session. It registers what they add and calls them with a context.

It is one client of the hook registry like any other: handlers are registered under their extension as owner, and go
with it. A session that is replaced or reloaded gets a runner of its own.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from msgspec import Struct

from piolet.agent.running import outside
from piolet.agent.tools import AgentTool
from piolet.app.commands import Command, ExtensionCommand
from piolet.app.extensions.asking import AskingUI
from piolet.app.extensions.bus import Bus
from piolet.app.extensions.contexts import (
    CommandContext,
    ExtensionContext,
    ReplacedSessionContext,
    ToolContext,
    TrustContext,
    WithSession,
)
from piolet.app.extensions.definitions import (
    CommandDefinition,
    FlagDefinition,
    FlagValue,
    Mode,
    ShortcutDefinition,
    ToolDefinition,
    ToolInfo,
)
from piolet.app.extensions.errors import no_exit
from piolet.app.extensions.extension import Extension, ProviderRegistration, Registration
from piolet.app.extensions.flags import FlagError, read_flags
from piolet.app.extensions.outbox import Outbox
from piolet.app.extensions.results import as_result, check_changes
from piolet.app.extensions.tools import agent_tool, define, is_allowed, overlaid
from piolet.app.hook_points import UiPrompt
from piolet.app.trust import PROJECT_TRUST
from piolet.base.abort import AbortSignal
from piolet.harness.hooks import Hook, HookFailure
from piolet.harness.prompt.records import PromptInputs

if TYPE_CHECKING:
    from piolet.app.agent_session import AgentSession
    from piolet.app.extensions.drawing import Drawing
    from piolet.app.runtime import Runtime
    from piolet.harness.environments.base import Environment
    from piolet.llm.models import Models

T = TypeVar("T")

#: Seconds that background tasks have to end when their extension does.
LAST_GRACE: Final = 1.0
#: Before the first extension, and behind none.
_FIRST: Final = -1


class Seat(Struct, frozen=True):
    """What extensions are bound to."""

    runtime: Runtime
    session: AgentSession
    ui: AskingUI


class ExtensionRunner:
    """See the module. `flags`: the values that the command line gave, by name; they outlive the runner.

    `failures`: what is wrong with loading, not reported yet. `tried`: the keys of the sources that were loaded, or not.
    """

    def __init__(self, runtime: Runtime, environment: Environment, flags: Mapping[str, FlagValue]) -> None:
        self.runtime = runtime
        self.environment = environment
        self.extensions: list[Extension] = []
        self.failures: list[HookFailure] = []
        self.tried: set[str] = set()
        self.bus = Bus(self._run_bus_handler, lambda owner, channel, error: self._bus_failed(owner, channel, error))
        self.outbox = Outbox(self)
        self.prompt_inputs = PromptInputs(environment.cwd)
        self._flags = flags
        self._committed = False
        self._shortcuts: Mapping[str, Callable[[], None]] | None = None
        self._seat: Seat | None = None
        self._models: Models | None = None
        self._tools: dict[int, AgentTool] = {}
        self._undo: list[Callable[[], None]] = []
        self._undo_commands: list[Callable[[], None]] = []

    @property
    def mode(self) -> Mode:
        match self.runtime.options.mode:
            case "interactive":
                return "tui"
            case "rpc" | "json" as mode:
                return mode
            case _:
                return "print"

    def seat(self, extension: Extension, what: str, coro: Coroutine[Any, Any, Any] | None = None) -> Seat:
        """Return what `extension` is bound to. RuntimeError while it loads; `StaleContextError` when it is gone."""
        try:
            extension.check()
            if self._seat is None:
                raise RuntimeError(f"{what} cannot be used while extensions load; use it in a handler")
        except Exception:
            if coro is not None:
                coro.close()
            raise
        return self._seat

    # ---- registering

    def add_handler(self, extension: Extension, registration: Registration) -> Callable[[], None]:
        extension.handlers.append(registration)
        withdraw = self._register(extension, registration) if self._committed else lambda: None

        def remove() -> None:
            withdraw()
            if registration in extension.handlers:
                extension.handlers.remove(registration)

        return remove

    def add_tool(
        self, extension: Extension, tool: ToolDefinition | Callable[..., Any], overrides: Mapping[str, Any]
    ) -> ToolDefinition:
        definition = define(tool, overrides, lambda call_id, signal: self._tool_context(extension, call_id, signal))
        extension.tools[definition.name] = definition
        if self._seat is not None:
            harness = self._seat.session.harness
            self._set_tools([*harness.active_tools, *([definition.name] if definition.default_active else [])])
        return definition

    def add_command(self, extension: Extension, command: CommandDefinition) -> None:
        if not command.name or any(character.isspace() for character in command.name):
            raise ValueError(f"{command.name!r} cannot name a command")
        extension.commands[command.name] = command
        if self._seat is not None:
            self._bind_commands(self._seat.session)

    def add_provider(self, extension: Extension, provider: ProviderRegistration) -> None:
        if self._models is not None:
            provider.apply(self._models)
        extension.providers[provider.name] = provider

    def remove_provider(self, extension: Extension, name: str) -> None:
        if extension.providers.pop(name, None) is not None and self._models is not None:
            self._models.unregister_provider(name)

    def flag(self, extension: Extension, name: str) -> FlagValue | None:
        if name not in extension.flags:
            return None
        if name in self._flags:
            return self._flags[name]
        return self.flags[name].default if self._committed else self._given(extension.flags[name])

    def _given(self, flag: FlagDefinition) -> FlagValue | None:
        """The value on the command line, before all flags are known. A wrong one is told when they are."""
        given = self.runtime.options.flags.get(flag.name)
        if given is None:
            return None
        with suppress(FlagError):
            return read_flags({flag.name: flag}, {flag.name: given}).values.get(flag.name)
        return None

    @property
    def flags(self) -> dict[str, FlagDefinition]:
        """All flags; of two extensions that register one, the first counts."""
        found: dict[str, FlagDefinition] = {}
        for extension in self.extensions:
            found = extension.flags | found
        return found

    def add_shortcut(self, extension: Extension, shortcut: ShortcutDefinition) -> None:
        extension.shortcuts[shortcut.key] = shortcut
        self._shortcuts = None

    @property
    def shortcuts(self) -> Mapping[str, Callable[[], None]]:
        """What to call when a key, by its normal name, is pressed. Keys that cannot be had are reported once."""
        if self._shortcuts is None:
            taken, problems = self.drawing.shortcuts(self._keys())
            self._shortcuts = {key: partial(self._press, *owner) for key, owner in taken.items()}
            for extension, problem in problems:
                self.report(extension, "register_shortcut", ValueError(problem))
        return self._shortcuts

    @property
    def shortcut_texts(self) -> Mapping[str, str]:
        """What the shortcuts do, in words, by key."""
        taken, _ = self.drawing.shortcuts(self._keys())
        return {key: shortcut.description or str(extension) for key, (extension, shortcut) in taken.items()}

    def _keys(self) -> Mapping[str, Sequence[str]]:
        return self._seat.session.services.keybindings.keys if self._seat is not None else {}

    def _press(self, extension: Extension, shortcut: ShortcutDefinition) -> None:
        what = f"shortcut:{shortcut.key}"
        try:
            with no_exit():
                result = shortcut.handler(ExtensionContext(self, extension))
        except Exception as error:
            self.report(extension, what, error)
            return
        if inspect.isawaitable(result):
            self.later(extension, what, result)

    # ---- from loading to a session

    def commit(self) -> None:
        """All are loaded: register their handlers, and say where they are in each other's way."""
        self._committed = True
        for extension in self.extensions:
            for registration in tuple(extension.handlers):
                self._register(extension, registration)
        for kind in ("tools", "flags", "message_renderers", "entry_renderers"):
            taken: dict[str, Extension] = {}
            for extension in self.extensions:
                for name in getattr(extension, kind):
                    first = taken.setdefault(name, extension)
                    if first is not extension:
                        what = kind.removesuffix("s").replace("_", " ")
                        self.fail(extension.path, "load", ValueError(f"the {what} {name!r} is that of {first.path}"))

    def apply_providers(self, models: Models) -> None:
        """Add the providers that were registered so far to `models`; those that cannot be are reported."""
        self._models = models
        for extension in self.extensions:
            for provider in tuple(extension.providers.values()):
                try:
                    provider.apply(models)
                except Exception as error:
                    del extension.providers[provider.name]
                    self.fail(extension.path, "register_provider", error)

    @contextmanager
    def answering_trust(self) -> Iterator[None]:
        """Let the extensions that are loaded so far answer ``project_trust``, and only within this block."""
        withdraw = [
            self._on(extension, registration)
            for extension in self.extensions
            for registration in extension.handlers
            if registration.event == PROJECT_TRUST.name
        ]
        try:
            yield
        finally:
            for off in withdraw:
                off()

    def bind(self, session: AgentSession) -> None:
        """Let the extensions act on `session`."""
        self._seat = Seat(self.runtime, session, AskingUI(lambda: self.runtime.ui, self._tell_prompt))
        self._bind_commands(session)
        self._undo = [
            self.runtime.hooks.on("agent_settled", self.outbox.hold, owner=self, rank=_FIRST),
            session.harness.subscribe(self.outbox.release),
        ]

    async def close(self) -> None:
        """Take back everything and end the background tasks, except the one that asks for it."""
        hooks = self.runtime.hooks
        for extension in self.extensions:
            hooks.drop(extension)
            extension.make_stale()
        for undo in (*self._undo, *self._undo_commands):
            undo()
        self.bus.clear()
        if self._models is not None:
            for name in {name for extension in self.extensions for name in extension.providers}:
                self._models.unregister_provider(name)
        own = asyncio.current_task()
        tasks = [task for extension in self.extensions for task in extension.tasks if task is not own]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=LAST_GRACE)

    # ---- tools

    def agent_tools(self) -> list[AgentTool]:
        """Return the tools of all extensions; of two of one name, the first counts."""
        return [self._agent_tool(extension, tool) for extension, tool in self._first_tools().values()]

    def default_active(self) -> list[str]:
        """Return the names of the tools that are on unless somebody says otherwise."""
        return [name for name, (_, tool) in self._first_tools().items() if tool.default_active]

    def tool_infos(self) -> list[ToolInfo]:
        """Return what is known of all tools of the session."""
        if self._seat is None:
            return []
        harness, own = self._seat.session.harness, self._first_tools()
        return [
            ToolInfo(
                tool.name,
                tool.label,
                tool.description,
                tool.parameters,
                tool.name in harness.active_tools,
                own[tool.name][0].info if tool.name in own else None,
            )
            for tool in harness.tools
        ]

    def tool(self, name: str) -> tuple[Extension | None, ToolDefinition | None]:
        """Return the tool of that name that an extension made, and the extension."""
        return self._first_tools().get(name, (None, None))

    @cached_property
    def drawing(self) -> Drawing:
        """What the extensions draw."""
        from piolet.app.extensions.drawing import Drawing

        return Drawing(self)

    def _first_tools(self) -> dict[str, tuple[Extension, ToolDefinition]]:
        found: dict[str, tuple[Extension, ToolDefinition]] = {}
        for extension in self.extensions:
            for name, tool in extension.tools.items():
                found.setdefault(name, (extension, tool))
        return found

    def _agent_tool(self, extension: Extension, tool: ToolDefinition) -> AgentTool:
        """The same object for the same definition, as long as the runner lives."""
        if id(tool) not in self._tools:
            self._tools[id(tool)] = agent_tool(
                tool, lambda call_id, signal: self._tool_context(extension, call_id, signal)
            )
        return self._tools[id(tool)]

    def _set_tools(self, active: list[str]) -> None:
        assert self._seat is not None
        session = self._seat.session
        selection = self.runtime.options.tools
        tools = overlaid(session.built_in_tools, self.agent_tools())
        session.harness.set_tools([tool for tool in tools if is_allowed(tool.name, selection)], active)

    def _tool_context(self, extension: Extension, call_id: str, signal: AbortSignal) -> ToolContext:
        return ToolContext(self, extension, call_id, signal)

    # ---- commands

    def _bind_commands(self, session: AgentSession) -> None:
        for undo in self._undo_commands:
            undo()
        every = [(extension, command) for extension in self.extensions for command in extension.commands.values()]
        names = [command.name for _, command in every]
        seen: dict[str, int] = {}
        self._undo_commands = []
        for extension, command in every:
            place = seen[command.name] = seen.get(command.name, 0) + 1
            name = command.name if names.count(command.name) == 1 else f"{command.name}:{place}"
            self._undo_commands.append(session.commands.add(self._callable(extension, command, name)))

    def _callable(self, extension: Extension, command: CommandDefinition, name: str) -> ExtensionCommand:
        async def run(arguments: str) -> None:
            await self._refresh_prompt()
            with no_exit():
                result = command.handler(arguments, CommandContext(self, extension))
                if inspect.isawaitable(result):
                    await result

        return ExtensionCommand(
            Command(name, command.description, "extension", extension.info), run, extension, command.complete
        )

    async def _refresh_prompt(self) -> None:
        """Build the prompt, so that a command can look at it."""
        assert self._seat is not None
        harness = self._seat.session.harness
        text, self.prompt_inputs = await harness.build_prompt()
        if harness.operation is None:
            harness.agent.system_prompt = text

    async def go_on(self, extension: Extension, with_session: WithSession) -> None:
        """Call `with_session` with a context of the session that took the place of this one."""
        runner = self.runtime.extensions
        same = [other for other in runner.extensions if other.path == extension.path]
        successor = same[0] if same else Extension(extension.path, extension.info, extension.rank)
        result = with_session(ReplacedSessionContext(runner, successor))
        if inspect.isawaitable(result):
            await result

    # ---- tasks and failures

    def spawn(self, extension: Extension, coro: Coroutine[Any, Any, T], name: str | None) -> asyncio.Task[T]:
        return self.later(extension, f"task:{name or getattr(coro, '__qualname__', 'task')}", coro)

    def later(self, extension: Extension, what: str, work: Awaitable[T]) -> asyncio.Task[T]:
        """Run `work` by itself; what it raises is reported as a failure of `what`."""

        async def run() -> T:
            outside()
            with no_exit():
                return await work

        def ended(task: asyncio.Task[T]) -> None:
            extension.tasks.discard(task)
            if asyncio.iscoroutine(work):
                work.close()  # it may have been cancelled before it began
            if not task.cancelled() and isinstance(error := task.exception(), Exception):
                self.report(extension, what, error)

        task = asyncio.create_task(run(), name=what)
        extension.tasks.add(task)
        task.add_done_callback(ended)
        return task

    def report(self, extension: Extension, what: str, error: Exception) -> None:
        """Report a failure like that of a handler."""
        self.runtime.hooks.report(HookFailure(what, extension, None, error, 0))

    def fail(self, path: str, event: str, error: Exception) -> None:
        """Note a fault that has to do with loading; it is reported when the session starts."""
        self.failures.append(HookFailure(event, path, None, error, 0))

    def _run_bus_handler(self, owner: object, channel: str, work: Awaitable[object]) -> None:
        assert isinstance(owner, Extension)
        self.later(owner, f"events:{channel}", work)

    def _bus_failed(self, owner: object, channel: str, error: Exception) -> None:
        assert isinstance(owner, Extension)
        self.report(owner, f"events:{channel}", error)

    # ---- handlers

    def _register(self, extension: Extension, registration: Registration) -> Callable[[], None]:
        if registration.event == PROJECT_TRUST.name:
            return lambda: None  # asked while loading only
        return self._on(extension, registration)

    def _on(self, extension: Extension, registration: Registration) -> Callable[[], None]:
        name, handler = registration.event, registration.handler
        context: object = ExtensionContext(self, extension)

        def ask(event: Any) -> object:
            nonlocal context
            if name == PROJECT_TRUST.name:
                context = TrustContext(event.cwd, self.mode, self.runtime.ui.has_ui, self.runtime.ui)
            with no_exit():
                result = handler(event, context)
            if inspect.isawaitable(result):
                return _taken_in(name, event, result)
            check_changes(name, event)
            return as_result(name, result)

        return self.runtime.hooks.on(name, ask, owner=extension, rank=extension.rank)

    def _tell_prompt(self, hook: Hook[UiPrompt, None], prompt: UiPrompt) -> None:
        hooks = self.runtime.hooks
        if hooks.wanted(hook) and self.extensions:
            self.later(self.extensions[0], hook.name, hooks.run(hook, prompt))


async def _taken_in(name: str, event: object, result: Awaitable[object]) -> object:
    with no_exit():
        answer = await result
    check_changes(name, event)
    return as_result(name, answer)
