"""``Runtime``: which session is open, in which folder. It replaces the `AgentSession`: dispose first, then build."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Literal, TypeAlias

from msgspec.structs import replace

from piolet.app.agent_session import AgentSession
from piolet.app.assembly import assemble, reassemble
from piolet.app.environment import note_environment
from piolet.app.extensions.flags import FlagValues, read_flags
from piolet.app.extensions.host import ExtensionHost
from piolet.app.extensions.runner import ExtensionRunner
from piolet.app.extensions.ui import UI, NullUI
from piolet.app.hook_points import (
    RESOURCES_DISCOVER,
    SESSION_BEFORE_FORK,
    SESSION_BEFORE_SWITCH,
    SESSION_SHUTDOWN,
    SESSION_START,
    BeforeFork,
    BeforeSwitch,
    ResourcesDiscover,
    SessionShutdown,
    SessionStart,
)
from piolet.app.opening import open_file, open_session, session_notices
from piolet.app.options import ForkSession, RuntimeOptions
from piolet.app.services import Services, early_place, load_services, project_trust, with_resources
from piolet.app.trust import Ask, needs_trust, untrusted_notice
from piolet.base.paths import resolve_path
from piolet.harness.events import HarnessEvent
from piolet.harness.hooks import HookFailure, Hooks
from piolet.harness.session.errors import MissingCwd
from piolet.harness.session.session import Session

Listener: TypeAlias = Callable[[HarnessEvent], Awaitable[None] | None]


class Runtime:
    """Holds one `AgentSession` at a time. Listeners, `hooks` and the `ui` stay when it is replaced."""

    def __init__(self, options: RuntimeOptions, ask: Ask | None = None) -> None:
        self.options = options
        self.hooks = Hooks(self._report)
        self.ui: UI = NullUI()
        #: Told of handlers that raise or are slow; a mode sets it.
        self.on_failure: Callable[[HookFailure], None] | None = None
        #: Told that an extension wants the program to end; a mode sets it, and ends when nothing is under way.
        self.on_shutdown: Callable[[], None] | None = None
        self.shutdown_requested = False
        #: What the command line said of the flags of extensions.
        self.flags = FlagValues()
        self._replacing = asyncio.Lock()
        self._host = ExtensionHost(self)
        self._extensions: ExtensionRunner | None = None
        self._started = False
        self._trust = project_trust(options)
        self._ask = ask
        self._listeners: list[Listener] = []
        self._services: Services | None = None
        self._session: AgentSession | None = None

    @classmethod
    async def create(cls, options: RuntimeOptions, *, ask: Ask | None = None) -> Runtime:
        """Open the session that `options` choose, with the services of its folder.

        `ask` puts the question whether the project's files may be loaded; without it an open question means no.
        The extensions are told of the session by `start`. Raises `SessionError`, `NoSuchModel`, `SettingsError`,
        `TrustError`, `FlagError`, `InvalidChoice`, `Unreachable`.
        """
        if not options.cwd.is_dir():
            raise MissingCwd(f"The working directory {options.cwd} does not exist")
        runtime = cls(options, ask)
        session = open_session(early_place(options), options.session)
        services: Services | None = None
        try:
            services = await runtime._load(session)
            if options.session_name:
                session.append_session_info(options.session_name)
            await runtime._load_extensions(services)
            left_out = not services.trusted and needs_trust(services.cwd, options.home)
            hint = untrusted_notice(services.cwd) if left_out else ""
            runtime.flags = read_flags(runtime.extensions.flags, options.flags, hint)
            runtime._host.flags.update(runtime.flags.values)
            runtime._bind(services, session)
        except BaseException:
            await runtime._close_extensions()
            if services is not None:
                await services.environment.close()
            session.close()
            if isinstance(options.session, ForkSession):
                _remove_copy(session)
            raise
        return runtime

    @classmethod
    @asynccontextmanager
    async def without_session(cls, options: RuntimeOptions) -> AsyncIterator[Runtime]:
        """Load services and extensions only, to look at what they bring. Raises `SettingsError`, `TrustError`."""
        runtime = cls(replace(options, environment="local"))
        try:
            runtime._services = await runtime._load_services(options.cwd)
            await runtime._load_extensions(runtime.services)
            yield runtime
        finally:
            await runtime._close_extensions()
            await runtime.dispose()

    @property
    def session(self) -> AgentSession:
        assert self._session is not None, "a runtime has a session between create and dispose"
        return self._session

    @property
    def services(self) -> Services:
        assert self._services is not None, "a runtime has services between create and dispose"
        return self._services

    @property
    def extensions(self) -> ExtensionRunner:
        """The extensions of the session."""
        assert self._extensions is not None, "a runtime has extensions between create and dispose"
        return self._extensions

    def bind(self, ui: UI) -> None:
        """Let extensions show and ask things through `ui`, the mode's own."""
        self.ui = ui

    async def start(self) -> None:
        """Tell the extensions that the session is open. Called once, when `on_failure` is set and the UI is bound."""
        if not self._started:
            self._started = True
            await self._announce("startup")

    async def wait_idle(self) -> None:
        """Return when nothing is under way, and nothing that extensions have sent is. Raises `HarnessBusy` inside."""
        while True:
            session = self.session
            await session.harness.wait_idle()
            if session.is_streaming:
                await asyncio.sleep(0)  # a run begins in the next moment
            elif not await self.extensions.outbox.wait() and session is self.session:
                return

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call `listener` with the events of whatever session is open; return a function that ends it."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener) if listener in self._listeners else None

    # ---- replacing the session

    async def new_session(
        self,
        parent_session: str | None = None,
        setup: Callable[[Session], Awaitable[object] | object] | None = None,
    ) -> bool:
        """Open a new session in this folder; False if a handler refused. `setup` may write into it first."""
        place = self.services.sessions
        in_memory = self.session.session.path is None
        return await self._switch(
            BeforeSwitch("new"),
            lambda: (
                Session.in_memory(place.cwd)
                if in_memory
                else Session.create(place.cwd, place.folder, parent_session=parent_session)
            ),
            setup,
        )

    async def switch_session(self, path: str, *, cwd_override: str | None = None) -> bool:
        """Open the session file at `path` (a missing one becomes a new session there); False if a handler refused.

        The runtime goes on in the session's folder, or in `cwd_override`. Raises `SessionError`.
        """
        path = self._absolute(path)
        return await self._switch(
            BeforeSwitch("resume", path), lambda: open_file(path, str(self.services.cwd), cwd_override)
        )

    async def import_session(self, path: str) -> bool:
        """Copy a session file into this folder's sessions and open the copy; False if a handler refused."""
        from piolet.harness.session.copying import import_jsonl

        source = self._absolute(path)
        place = self.services.sessions
        return await self._switch(
            BeforeSwitch("resume", source), lambda: open_file(import_jsonl(source, place.folder), place.cwd)
        )

    async def fork(self, entry_id: str, position: Literal["before", "at"] = "before") -> str | None:
        """Open a copy of the branch up to an entry; None if a handler refused.

        "before": up to before a user message, whose text is returned. Raises `SessionError` if the entry is no user
        message or nothing is saved yet.
        """
        from piolet.harness.session.copying import branched_session, clone, fork

        event = await self.hooks.run(SESSION_BEFORE_FORK, BeforeFork(entry_id, position))
        if event.cancelled:
            return None
        session, text = self.session.session, ""
        if position == "before":
            forked, text = fork(session, entry_id)
            if event.skip_conversation_restore:
                forked = clone(session)
        else:
            forked = branched_session(session, entry_id)
        await self._replace(forked, "fork")
        return text

    async def clone(self) -> bool:
        """Open a copy of the active branch; False if a handler refused. Raises `SessionError`."""
        from piolet.harness.session.copying import clone

        leaf = self.session.session.leaf_id
        if leaf is not None:
            event = await self.hooks.run(SESSION_BEFORE_FORK, BeforeFork(leaf, "at"))
            if event.cancelled:
                return False
        await self._replace(clone(self.session.session), "fork")
        return True

    async def reload(self) -> None:
        """Load extensions, settings, resources and models anew; the session stays, with its model, tools and queues.

        Raises `PromptRejected` while something is under way; `SettingsError`, `TrustError`: then only the extensions
        are loaded anew.
        """
        async with self._replacing:
            self.session.check_idle("reload")
            await self._end_extensions("reload")
            self._host.forget()
            try:
                self._services = await self._load_services(self.services.cwd)
            finally:
                await self._load_extensions(self.services)
                reassemble(self.session, self.services, self.extensions)
                self.extensions.bind(self.session)
                await self._announce("reload")

    def _absolute(self, path: str) -> str:
        return resolve_path(path, str(self.services.cwd), home=str(self.options.home))

    async def _switch(
        self,
        event: BeforeSwitch,
        make: Callable[[], Session],
        setup: Callable[[Session], Awaitable[object] | object] | None = None,
    ) -> bool:
        if (await self.hooks.run(SESSION_BEFORE_SWITCH, event)).cancelled:
            return False
        session = make()
        try:
            written = setup(session) if setup else None
            if isinstance(written, Awaitable):
                await written
        except BaseException:
            session.close()
            raise
        await self._replace(session, event.reason)
        return True

    async def _replace(self, session: Session, reason: Literal["new", "resume", "fork"]) -> None:
        """Go on with another session: get its services first, so that a failure leaves the old one open."""
        async with self._replacing:
            try:
                services = await self._load(session)
            except BaseException:
                session.close()
                raise
            old, previous = self.services, self.session.session.path
            await self._end_extensions(reason, session.path)
            await self.session.dispose()
            await self._load_extensions(services)
            self._bind(services, session)
            if old.environment is not services.environment:
                await old.environment.close()
            await self._announce(reason, previous)

    async def _load(self, session: Session) -> Services:
        """Return the services for the folder of `session`: those in use, unless it is another one."""
        cwd = Path(session.cwd)
        if self._services is not None and self._services.cwd == cwd:
            return self._services
        return await self._load_services(cwd)

    async def _load_services(self, cwd: Path) -> Services:
        return await load_services(
            self.options,
            cwd,
            self._trust,
            ask=self._ask,
            previous=self._services,
            hooks=self.hooks,
            asking=self._host.asking,
        )

    def _bind(self, services: Services, session: Session) -> None:
        self._services = services
        note_environment(session, services.place, services.environment, services.tell_once)
        self._session = assemble(services, session, self.hooks, self.extensions)
        for notice in session_notices(session, thorough=self.options.mode not in ("print", "json")):
            services.tell_once(notice)
        self._session.harness.subscribe(self._tell)
        self.extensions.bind(self._session)

    # ---- extensions

    async def _load_extensions(self, services: Services) -> None:
        self._extensions = await self._host.load(services)
        self._extensions.apply_providers(services.models)

    async def _announce(
        self, reason: Literal["startup", "reload", "new", "resume", "fork"], previous: str | None = None
    ) -> None:
        """Report what is wrong with the extensions, tell them of the session, and ask where else resources are."""
        failures, self.extensions.failures = self.extensions.failures, []
        for failure in failures:
            self.hooks.report(failure)
        await self.hooks.run(SESSION_START, SessionStart(reason, previous))
        if not self.hooks.wanted(RESOURCES_DISCOVER):
            return
        services = self.services
        event = ResourcesDiscover(services.environment.cwd, "reload" if reason == "reload" else "startup")
        found = (await self.hooks.run(RESOURCES_DISCOVER, event)).found
        self._services = services = with_resources(services, found)
        self.session.services = services
        self.session.harness.prompt_parts = services.prompt_parts()

    async def _end_extensions(
        self, reason: Literal["quit", "reload", "new", "resume", "fork"], target: str | None = None
    ) -> None:
        if self._started:
            await self.hooks.run(SESSION_SHUTDOWN, SessionShutdown(reason, target))
        await self._close_extensions()

    async def _close_extensions(self) -> None:
        if self._extensions is not None:
            await self._extensions.close()

    async def export_html(self, path: str | None = None) -> str:
        """Write the session as an HTML page, the secrets of this machine masked; return its path.

        Raises `SessionError`.
        """
        from piolet.app.export.html import export_html
        from piolet.app.export.surroundings import surroundings
        from piolet.app.secrets import Secrets

        harness, services = self.session.harness, self.services
        secrets = Secrets.of(services.options.agent_dir, os.environ, services.options.api_key)
        prompt = harness.agent.system_prompt or (await harness.build_prompt())[0]
        around = surroundings(self, self.session.session, prompt, [tool.spec() for tool in harness.agent.tools])
        return export_html(self.session.session, secrets, str(services.cwd), path, around)

    # ---- ending

    def request_shutdown(self) -> None:
        """Ask the mode to end the program when nothing is under way."""
        self.shutdown_requested = True
        if self.on_shutdown is not None:
            self.on_shutdown()

    def interrupt(self) -> None:
        """Ask what is under way to stop; do not wait."""
        self.session.request_abort()

    async def dispose(self) -> None:
        """Tell the extensions, stop what is under way, close the session and the connections."""
        if self._session is not None:
            await self._end_extensions("quit")
            await self._session.dispose()
            self._session = None
        if self._services is not None:
            await self._services.models.aclose()
            await self._services.environment.close()
            self._services = None

    async def __aenter__(self) -> Runtime:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.dispose()

    def _report(self, failure: HookFailure) -> None:
        if self.on_failure is not None:
            self.on_failure(failure)

    async def _tell(self, event: HarnessEvent) -> None:
        for listener in tuple(self._listeners):
            result = listener(event)
            if result is not None:
                await result


async def create_runtime(
    options: RuntimeOptions | None = None,
    *,
    cwd: str | os.PathLike[str] | None = None,
    model: str | None = None,
    ask: Ask | None = None,
) -> Runtime:
    """Return the product without a terminal: sessions, settings, skills, tools and commands, as `options` say.

    `cwd` and `model` stand for the options of these names. Without `ask` and without a stored decision nothing of the
    project's ``.pi`` is loaded. Dispose of it in the end. Raises as `Runtime.create` does.
    """
    options = options or RuntimeOptions()
    if cwd is not None:
        options = replace(options, cwd=Path(resolve_path(os.fspath(cwd), str(options.cwd))))
    if model is not None:
        options = replace(options, model=model)
    runtime = await Runtime.create(options, ask=ask)
    await runtime.start()
    return runtime


def _remove_copy(session: Session) -> None:
    """Remove the file of a session that was copied for a start that failed."""
    if session.path is not None:
        with suppress(OSError):
            os.unlink(session.path)
