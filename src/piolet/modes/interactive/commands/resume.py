"""``/resume``: open another session."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from piolet.harness.session.errors import MissingCwd
from piolet.harness.session.listing import SessionInfo, read_info, same_folder
from piolet.harness.session.places import SessionPlace
from piolet.harness.session.session import Session
from piolet.harness.session.upkeep import delete_session
from piolet.modes.interactive.commands.missing_cwd import open_without_folder
from piolet.modes.interactive.session_panel import Scope, SessionPanel

if TYPE_CHECKING:
    from piolet.modes.interactive.face import Face

BATCH = 25  # files that are read before the list is shown again


async def resume(face: Face, rest: str) -> None:
    """``/resume``"""
    current = face.runtime.session.session.path
    info = await choose_session(face, face.runtime.services.sessions, current)
    if info is None:
        return
    if info.path == current:
        face.presenter.status("This session is open already")
    else:
        await open_session(face, info.path)


async def open_session(face: Face, path: str) -> None:
    """Go on with the session at `path`."""
    try:
        done = await face.opened.replacing(lambda: face.runtime.switch_session(path))
    except MissingCwd as error:
        done = await open_without_folder(face, path, str(error))
    if done:
        face.presenter.status("Resumed session")


async def choose_session(face: Face, place: SessionPlace, current: str | None = None) -> SessionInfo | None:
    """Show the sessions of `place` and return the one that is chosen."""
    picker = _Picker(face, place, current)
    try:
        return await face.ask(picker.panel)
    finally:
        picker.close()


class _Picker:
    """Reads sessions while the panel shows those that are there, and does what the panel's keys ask for."""

    def __init__(self, face: Face, place: SessionPlace, current: str | None) -> None:
        self._face, self._place, self._current = face, place, current
        self._loading: asyncio.Task[None] | None = None
        self._panel: SessionPanel | None = None
        self._infos: dict[str, SessionInfo] = {}

    def panel(self, done: Callable[[SessionInfo | None], None]) -> SessionPanel:
        face = self._face
        self._panel = SessionPanel(
            done,
            lambda: done(None),
            on_scope=self._load,
            on_rename=lambda info: face.start(self._rename(info)),
            on_delete=lambda info: face.start(self._delete(info)),
            current=self._current,
            home=os.path.expanduser("~"),
            keymap=face.keymap,
        )
        self._load("folder")
        return self._panel

    def close(self) -> None:
        if self._loading is not None:
            self._loading.cancel()

    def _load(self, scope: Scope) -> None:
        self.close()
        self._infos = {}
        self._show()
        self._loading = self._face.start(self._read(scope))

    async def _read(self, scope: Scope) -> None:
        place = self._place
        paths = list(place.files() if scope == "folder" else place.all_files())
        cwd = place.cwd if scope == "folder" and place.flat else None
        for start in range(0, len(paths), BATCH):
            batch = paths[start : start + BATCH]
            for info in await asyncio.to_thread(_read_infos, batch, cwd):
                self._infos[info.path] = info
            rest = len(paths) - start - len(batch)
            self._show(f"Loading {start + len(batch)}/{len(paths)}" if rest else "")

    def _show(self, progress: str = "") -> None:
        if self._panel is not None:
            infos = sorted(self._infos.values(), key=lambda info: info.modified, reverse=True)
            self._panel.show(infos, progress)
            self._face.app.redraw_panel()

    async def _rename(self, info: SessionInfo) -> None:
        name = await self._face.dialogs.line("Name of the session", text=info.name or "")
        if name is None:
            return
        if info.path == self._current:
            await self._face.runtime.session.set_name(name)
        else:
            with Session.open(info.path) as session:
                session.append_session_info(name)
        self._reread(info.path)

    async def _delete(self, info: SessionInfo) -> None:
        await asyncio.to_thread(delete_session, info.path)
        self._reread(info.path)

    def _reread(self, path: str) -> None:
        found = read_info(path)
        if found is None:
            self._infos.pop(path, None)
        else:
            self._infos[path] = found
        self._show()


def _read_infos(paths: Iterable[str], cwd: str | None) -> list[SessionInfo]:
    infos = [info for path in paths if (info := read_info(path)) is not None]
    return infos if cwd is None else [info for info in infos if same_folder(info.cwd, cwd)]
