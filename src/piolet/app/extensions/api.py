"""``ExtensionAPI``: what an extension's ``extension(pi)`` gets (the extension specification, section 4)."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Unpack, overload

from piolet.app.extensions.bus import BusHandler
from piolet.app.extensions.definitions import (
    CommandDefinition,
    CommandHandler,
    Completer,
    DeliverAs,
    EntryRenderer,
    ExecResult,
    FlagDefinition,
    FlagValue,
    MarkdownContext,
    MarkdownTransformer,
    MessageRenderer,
    ShortcutDefinition,
    ShortcutHandler,
    ToolDefinition,
    ToolFields,
    ToolInfo,
    ToolRendererResolver,
)
from piolet.app.extensions.events import check_event
from piolet.app.extensions.extension import Extension, ProviderRegistration, Registration
from piolet.app.extensions.results import as_message_draft
from piolet.harness.drafts import CustomMessageDraft
from piolet.llm.messages import THINKING_LEVELS, ThinkingLevel, UserBlock

if TYPE_CHECKING:
    from piolet.app.commands import Command
    from piolet.app.extensions.on import On
    from piolet.app.extensions.runner import ExtensionRunner
    from piolet.app.settings import Settings
    from piolet.base.abort import AbortSignal
    from piolet.llm.model import Model
    from piolet.llm.oauth.login import Login
    from piolet.llm.provider_config import ProviderConfig
    from piolet.llm.stream import StreamFunction

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])


class EventBus:
    """The bus of the session, for one extension."""

    def __init__(self, runner: ExtensionRunner, extension: Extension) -> None:
        self._runner = runner
        self._extension = extension

    def emit(self, channel: str, data: Any = None) -> None:
        """Hand `data` to everybody who subscribed to `channel`."""
        self._extension.check()
        self._runner.bus.emit(channel, data)

    def on(self, channel: str, handler: BusHandler) -> Callable[[], None]:
        """Call `handler` (sync or async) with what is emitted on `channel`; return a function that ends it."""
        self._extension.check()
        return self._runner.bus.on(self._extension, channel, handler)


class ExtensionAPI:
    """Registers what the extension adds, and acts on the session.

    While extensions load, only `on`, ``register_…``, ``unregister_…``, `get_flag`, `events` and `exec` work; the rest
    raises RuntimeError until the session is there. Once the session is replaced or reloaded, all of it raises
    `StaleContextError`.
    """

    def __init__(self, runner: ExtensionRunner, extension: Extension) -> None:
        self._runner = runner
        self._extension = extension
        self._events = EventBus(runner, extension)

    @property
    def events(self) -> EventBus:
        """The bus between extensions."""
        return self._events

    # ---- registering

    if TYPE_CHECKING:

        @property
        def on(self) -> On: ...
    else:

        def on(self, event, handler=None, /):
            """Register a handler of an event; return a function that withdraws it. Without handler: a decorator."""
            self._extension.check()
            check_event(event)
            if handler is not None:
                if not callable(handler):
                    raise TypeError(f"a handler of {event} is a function, not {type(handler).__name__}")
                return self._runner.add_handler(self._extension, Registration(event, handler))

            def register(handler):
                self.on(event, handler)
                return handler

            return register

    def register_tool(
        self, tool: ToolDefinition | Callable[..., Any], **overrides: Unpack[ToolFields]
    ) -> ToolDefinition:
        """Add a tool: a definition, or a typed function whose signature and docstring describe it.

        `overrides` replace fields of the definition. A built-in tool of the same name is replaced. Registered later, it
        is active from the next request on, unless `default_active` is False.
        """
        self._extension.check()
        return self._runner.add_tool(self._extension, tool, overrides)

    @overload
    def tool(self, fn: F, /) -> F: ...
    @overload
    def tool(self, /, **options: Unpack[ToolFields]) -> Callable[[F], F]: ...
    def tool(self, fn: Any = None, /, **options: Unpack[ToolFields]) -> Any:
        """`register_tool` as a decorator, with or without options: fields of the definition."""
        if fn is not None:
            self.register_tool(fn)
            return fn

        def register(fn: F) -> F:
            self.register_tool(fn, **options)
            return fn

        return register

    def register_command(
        self, name: str, handler: CommandHandler, *, description: str = "", complete: Completer | None = None
    ) -> None:
        """Add ``/name``. `handler(arguments, ctx)` gets the text behind the name; it runs at once, also during a run.

        `complete(prefix)` proposes arguments.
        """
        self._extension.check()
        self._runner.add_command(self._extension, CommandDefinition(name, handler, description, complete))

    def command(
        self, name: str | None = None, *, description: str = "", complete: Completer | None = None
    ) -> Callable[[F], F]:
        """`register_command` as a decorator. The name is by default that of the function, the docstring describes."""

        def register(fn: F) -> F:
            text = description or (fn.__doc__ or "").strip().split("\n")[0]
            self.register_command(name or fn.__name__.replace("_", "-"), fn, description=text, complete=complete)
            return fn

        return register

    def register_shortcut(self, key: str, handler: ShortcutHandler, *, description: str = "") -> None:
        """Call `handler(ctx)` when `key` is pressed (written as in ``keybindings.json``)."""
        self._extension.check()
        self._runner.add_shortcut(self._extension, ShortcutDefinition(key, handler, description))

    def register_flag(
        self,
        name: str,
        *,
        type: Literal["boolean", "string"],
        default: FlagValue | None = None,
        description: str = "",
    ) -> None:
        """Add ``--name`` to the command line. ValueError for what cannot be one."""
        self._extension.check()
        if not re.fullmatch(r"\w[\w.-]*", name) or type not in ("boolean", "string"):
            raise ValueError(f"--{name} of type {type} cannot be a flag: it is a word, boolean or string")
        self._extension.flags[name] = FlagDefinition(name, type, default, description)

    def get_flag(self, name: str) -> FlagValue | None:
        """Return the value of a flag that this extension registered; None for any other.

        While extensions load, that is the value on the command line alone: defaults count once all are there.
        """
        self._extension.check()
        return self._runner.flag(self._extension, name)

    def register_message_renderer(self, custom_type: str, render: MessageRenderer) -> None:
        """Draw custom messages of a type, which are in the context, as ``render(message, options, theme)`` says."""
        self._extension.check()
        self._extension.message_renderers[custom_type] = render

    def register_entry_renderer(self, custom_type: str, render: EntryRenderer) -> None:
        """Draw custom entries of a type, which are not in the context, as ``render(entry, options, theme)`` says."""
        self._extension.check()
        self._extension.entry_renderers[custom_type] = render

    def register_markdown_transformer(
        self,
        transform: Callable[[str, MarkdownContext], str],
        *,
        message_types: Sequence[str] = ("user", "assistant", "assistant-thinking"),
    ) -> None:
        """Change the text of messages on its way to the screen; neither the session nor the model sees it."""
        self._extension.check()
        self._extension.markdown_transformers.append(MarkdownTransformer(transform, tuple(message_types)))

    def register_tool_renderer(self, resolver: ToolRendererResolver) -> None:
        """Say how calls of other tools are drawn.

        `resolver(tool_name, next)` returns `ToolSlots`, or a mapping with its fields, or None; ``next()`` gives what
        the other extensions and the tool itself say.
        """
        self._extension.check()
        self._extension.tool_renderers.append(resolver)

    def register_provider(
        self,
        name: str,
        config: ProviderConfig | Mapping[str, Any] | None = None,
        *,
        models: Sequence[Model] = (),
        stream: StreamFunction | None = None,
        login: Login | None = None,
    ) -> None:
        """Add a provider of models, or change one.

        `config` is as in models.json; `models` are complete records; `stream` answers in place of a wire protocol;
        `login` gets and renews tokens.
        """
        self._extension.check()
        self._runner.add_provider(self._extension, ProviderRegistration(name, config, models, stream, login))

    def unregister_provider(self, name: str) -> None:
        """Take a provider of this extension back."""
        self._extension.check()
        self._runner.remove_provider(self._extension, name)

    # ---- messages and entries

    def send_message(
        self,
        message: CustomMessageDraft | Mapping[str, Any],
        *,
        deliver_as: DeliverAs | None = None,
        trigger_turn: bool | None = None,
    ) -> None:
        """Put a custom message into the conversation, where the model sees it as a user's.

        "next_turn": it goes with the next prompt. Else during a run, unless `trigger_turn` is False: into the queue of
        steering messages, or with "follow_up" of follow-ups. Else with `trigger_turn` it starts a run. Else it is
        stored: at once, or at the end of the turn.
        """
        self._runner.seat(self._extension, "send_message")
        self._runner.outbox.send(self._extension, as_message_draft(message), deliver_as, trigger_turn)

    def send_user_message(
        self,
        content: str | Sequence[UserBlock],
        *,
        deliver_as: Literal["steer", "follow_up", "followUp"] | None = None,
        expand_prompt_templates: bool = False,
    ) -> None:
        """Send a prompt as if the user had. During a run `deliver_as` says how it is queued; else RuntimeError.

        Handlers of ``input`` see it. `expand_prompt_templates`: commands, skills and templates are carried out.
        """
        self._runner.seat(self._extension, "send_user_message")
        self._runner.outbox.send_user(self._extension, content, deliver_as, expand=expand_prompt_templates)

    def append_entry(self, custom_type: str, data: Any = None) -> str:
        """Store state (JSON) that the model never sees, at the leaf; return the entry's id. Raises `SessionError`."""
        seat = self._runner.seat(self._extension, "append_entry")
        return self._runner.outbox.append_entry(self._extension, seat.session, custom_type, data)

    def set_session_name(self, name: str) -> None:
        session = self._runner.seat(self._extension, "set_session_name").session
        session.session.append_session_info(name)
        self._runner.outbox.later(self._extension, "set_session_name", session.tell_name())

    def get_session_name(self) -> str | None:
        return self._runner.seat(self._extension, "get_session_name").session.session.name

    def set_label(self, entry_id: str, label: str | None) -> None:
        """Label an entry; None takes the label away. Raises `SessionError`."""
        self._runner.seat(self._extension, "set_label").session.session.append_label(entry_id, label)

    # ---- programs and tasks

    async def exec(
        self,
        command: str,
        args: Sequence[str] = (),
        *,
        cwd: str | None = None,
        timeout: float | None = None,
        signal: AbortSignal | None = None,
        max_buffer: int | None = None,
    ) -> ExecResult:
        """Run a program, without a shell, in the environment of the session; `timeout` in seconds.

        A missing program gives code 1 and the reason in `stderr`; a death by signal N gives 128 + N.
        """
        self._extension.check()
        from piolet.app.extensions.programs import run_program

        return await run_program(
            self._runner.environment, command, args, cwd=cwd, timeout=timeout, signal=signal, max_buffer=max_buffer
        )

    def spawn(self, coro: Coroutine[Any, Any, T], *, name: str | None = None) -> asyncio.Task[T]:
        """Run `coro` in the background. It is cancelled when the extension ends: at a reload, another session, exit."""
        self._runner.seat(self._extension, "spawn", coro)
        return self._runner.spawn(self._extension, coro, name)

    # ---- tools, commands, settings

    def get_active_tools(self) -> list[str]:
        return list(self._runner.seat(self._extension, "get_active_tools").session.harness.active_tools)

    def set_active_tools(self, names: Sequence[str]) -> None:
        """Offer these tools from the next request on; unknown names are left out."""
        self._runner.seat(self._extension, "set_active_tools").session.harness.set_active_tools(names)

    def get_all_tools(self) -> list[ToolInfo]:
        """Return all tools of the session, active or not."""
        self._runner.seat(self._extension, "get_all_tools")
        return self._runner.tool_infos()

    def get_commands(self) -> list[Command]:
        """Return the commands that a prompt can call: of extensions, templates, skills."""
        return list(self._runner.seat(self._extension, "get_commands").session.commands.list())

    def get_settings(self) -> Settings:
        """Return a copy of the merged settings."""
        import copy

        from piolet.app.settings import Settings

        settings = self._runner.seat(self._extension, "get_settings").session.services.settings
        return Settings(copy.deepcopy(dict(settings.user)), copy.deepcopy(dict(settings.project)))

    # ---- model and thinking

    async def set_model(self, model: Model) -> bool:
        """Use `model` from the next request on; False if it has no credentials."""
        session = self._runner.seat(self._extension, "set_model").session
        if not session.services.models.has_configured_auth(model):
            return False
        await session.harness.set_model(model)
        return True

    def get_thinking_level(self) -> ThinkingLevel:
        return self._runner.seat(self._extension, "get_thinking_level").session.thinking_level

    def set_thinking_level(self, level: ThinkingLevel) -> None:
        """Use `level`, fitted to the model, from the next request on."""
        if level not in THINKING_LEVELS:
            raise ValueError(f"There is no thinking level {level!r}: it is one of {', '.join(THINKING_LEVELS)}")
        harness = self._runner.seat(self._extension, "set_thinking_level").session.harness
        change = harness.use_thinking_level(level)
        if change is not None:
            self._runner.outbox.later(self._extension, "set_thinking_level", harness.publish(change))
