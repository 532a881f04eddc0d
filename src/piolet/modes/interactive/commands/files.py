"""Commands that write the session to a file, or open one from a file."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from piolet.base.paths import resolve_path
from piolet.harness.session.copying import export_jsonl
from piolet.harness.session.errors import MissingCwd
from piolet.modes.interactive.commands.missing_cwd import open_without_folder

if TYPE_CHECKING:
    from piolet.modes.interactive.face import Face


async def export(face: Face, rest: str) -> None:
    """``/export [PATH]``: a page, or JSONL if the path says so."""
    path = _path(face, rest)
    if path is not None and path.lower().endswith(".jsonl"):
        written = export_jsonl(face.runtime.session.session, path)
    else:
        written = await face.runtime.export_html(path)
    face.presenter.status(f"Session exported to: {written}")


async def import_(face: Face, rest: str) -> None:
    """``/import PATH.jsonl``: copy a session file here and open the copy."""
    path = _path(face, rest)
    if path is None or not _is_file(path):
        face.presenter.error(f"There is no file {path}" if path else "Usage: /import <path.jsonl>")
        return
    stays = (
        " The session that is open now stays; /resume leads back to it." if face.runtime.session.session.saved else ""
    )
    if not await face.dialogs.confirm("Import session", f"A copy of {path} is opened.{stays}"):
        face.presenter.status("Import cancelled")
        return
    try:
        done = await face.opened.replacing(lambda: face.runtime.import_session(path))
    except MissingCwd as error:
        done = await open_without_folder(face, path, str(error), copy=True)
    if done:
        face.presenter.status(f"Session imported from: {path}")


def _is_file(path: str) -> bool:
    return Path(path).is_file()


def _path(face: Face, text: str) -> str | None:
    """Return the path that a command was given, quotes taken off; None if there is none."""
    try:
        words = shlex.split(text)
    except ValueError:
        words = [text]
    if not words:
        return None
    services = face.runtime.services
    return resolve_path(" ".join(words), str(services.cwd), home=str(services.options.home))
