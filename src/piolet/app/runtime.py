"""``Runtime``: which session is open, in which folder. It replaces the `AgentSession`: dispose first, then build."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

from msgspec.structs import replace

from piolet.app.agent_session import AgentSession
from piolet.app.assembly import assemble, reassemble
from piolet.app.extensions.ui import UI, NullUI
from piolet.app.hook_points import SESSION_BEFORE_FORK, SESSION_BEFORE_SWITCH, BeforeFork, BeforeSwitch
from piolet.app.opening import open_file, open_session, session_notices
from piolet.app.options import ForkSession, RuntimeOptions
from piolet.app.services import Services, early_place, load_services, project_trust
from piolet.app.trust import Ask
from piolet.base.paths import resolve_path
from piolet.harness.events import HarnessEvent
from piolet.harness.hooks import HookFailure, Hooks
from piolet.harness.session.copying import clone, fork, import_jsonl
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
        self._replacing = asyncio.Lock()
        self._trust = project_trust(options)
        self._ask = ask
        self._listeners: list[Listener] = []
        self._services: Services | None = None
        self._session: AgentSession | None = None

    @classmethod
    async def create(cls, options: RuntimeOptions, *, ask: Ask | None = None) -> Runtime:
        """Open the session that `options` choose, with the services of its folder.

        `ask` puts the question whether the project's files may be loaded; without it an open question means no.
        Raises `SessionError`, `NoSuchModel`, `SettingsError`, `TrustError`.
        """
        runtime = cls(options, ask)
        session = open_session(early_place(options), options.session)
        try:
            services = await runtime._load(session)
            if options.session_name:
                session.append_session_info(options.session_name)
            runtime._bind(services, session)
        except BaseException:
            session.close()
            if isinstance(options.session, ForkSession):
                _remove_copy(session)
            raise
        return runtime

    @property
    def session(self) -> AgentSession:
        assert self._session is not None, "a runtime has a session between create and dispose"
        return self._session

    @property
    def services(self) -> Services:
        assert self._services is not None, "a runtime has services between create and dispose"
        return self._services

    def bind(self, ui: UI) -> None:
        """Let extensions show and ask things through `ui`, the mode's own."""
        self.ui = ui

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call `listener` with the events of whatever session is open; return a function that ends it."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener) if listener in self._listeners else None

    # ---- replacing the session

    async def new_session(self, parent_session: str | None = None) -> bool:
        """Open a new session in this folder; False if a handler refused."""
        place = self.services.sessions
        in_memory = self.session.session.path is None
        return await self._switch(
            BeforeSwitch("new"),
            lambda: (
                Session.in_memory(place.cwd)
                if in_memory
                else Session.create(place.cwd, place.folder, parent_session=parent_session)
            ),
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
        source = self._absolute(path)
        place = self.services.sessions
        return await self._switch(
            BeforeSwitch("resume", source), lambda: open_file(import_jsonl(source, place.folder), place.cwd)
        )

    async def fork(self, entry_id: str) -> str | None:
        """Open a copy of the branch up to before a user message, and return its text; None if a handler refused.

        Raises `SessionError` if the entry is no user message or nothing is saved yet.
        """
        if await self._fork_refused(BeforeFork(entry_id)):
            return None
        forked, text = fork(self.session.session, entry_id)
        await self._replace(forked)
        return text

    async def clone(self) -> bool:
        """Open a copy of the active branch; False if a handler refused. Raises `SessionError`."""
        leaf = self.session.session.leaf_id
        if leaf is not None and await self._fork_refused(BeforeFork(leaf, "at")):
            return False
        await self._replace(clone(self.session.session))
        return True

    async def reload(self) -> None:
        """Read settings, resources and models again; the session stays, with its model, tools and queues.

        Raises `PromptRejected` while something is under way, `SettingsError`, `TrustError`.
        """
        self.session.check_idle("reload")
        services = await load_services(
            self.options, self.services.cwd, self._trust, ask=self._ask, previous=self._services
        )
        reassemble(self.session, services)
        self._services = services

    def _absolute(self, path: str) -> str:
        return resolve_path(path, str(self.services.cwd), home=str(self.options.home))

    async def _switch(self, event: BeforeSwitch, make: Callable[[], Session]) -> bool:
        if (await self.hooks.run(SESSION_BEFORE_SWITCH, event)).cancelled:
            return False
        await self._replace(make())
        return True

    async def _fork_refused(self, event: BeforeFork) -> bool:
        return (await self.hooks.run(SESSION_BEFORE_FORK, event)).cancelled

    async def _replace(self, session: Session) -> None:
        """Go on with another session: get its services first, so that a failure leaves the old one open."""
        async with self._replacing:
            try:
                services = await self._load(session)
            except BaseException:
                session.close()
                raise
            old = self.services
            await self.session.dispose()
            self._bind(services, session)
            if old.environment is not services.environment:
                await old.environment.close()

    async def _load(self, session: Session) -> Services:
        """Return the services for the folder of `session`: those in use, unless it is another one."""
        cwd = Path(session.cwd)
        if self._services is not None and self._services.cwd == cwd:
            return self._services
        return await load_services(self.options, cwd, self._trust, ask=self._ask, previous=self._services)

    def _bind(self, services: Services, session: Session) -> None:
        self._services = services
        for notice in session_notices(session):
            services.tell_once(notice)
        self._session = assemble(services, session, self.hooks)
        self._session.harness.subscribe(self._tell)

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
        """Stop what is under way, close the session and the connections."""
        if self._session is not None:
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
    return await Runtime.create(options, ask=ask)


def _remove_copy(session: Session) -> None:
    """Remove the file of a session that was copied for a start that failed."""
    if session.path is not None:
        with suppress(OSError):
            os.unlink(session.path)
