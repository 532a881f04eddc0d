"""Which session a choice means, opened (the command line specification, section 6)."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from piolet.app.options import (
    ContinueSession,
    ExactSession,
    ForkSession,
    NewSession,
    OpenSession,
    SessionChoice,
)
from piolet.base.files import make_private_folder
from piolet.harness.session.errors import MissingCwd, WriteFailed
from piolet.harness.session.places import SessionPlace
from piolet.harness.session.session import Session


def open_session(place: SessionPlace, choice: SessionChoice) -> Session:
    """Return the session that `choice` means at `place`. Raises `SessionError`."""
    cwd, folder = place.cwd, place.folder
    match choice:
        case NewSession(in_memory=True):
            return Session.in_memory(cwd, choice.session_id)
        case NewSession():
            return Session.create(cwd, folder, choice.session_id, choice.parent_session)
        case ContinueSession():
            latest = place.most_recent()
            return open_file(latest, cwd) if latest else Session.create(cwd, folder)
        case OpenSession():
            override = None if choice.cwd_override is None else str(choice.cwd_override)
            return open_file(str(choice.path), cwd, override)
        case ExactSession():
            known = place.find_id(choice.session_id)
            return open_file(known, cwd) if known else Session.create(cwd, folder, choice.session_id)
        case ForkSession():
            from piolet.harness.session.copying import fork_from

            return fork_from(str(choice.path), cwd, folder, choice.session_id)


def open_file(path: str, cwd: str, cwd_override: str | None = None) -> Session:
    """Open the session file at `path`; a missing one becomes a new session of `cwd` there.

    Raises `MissingCwd` if the working directory of the session is gone and no other is given.
    """
    missing = not os.path.lexists(path)
    session = Session.open(path, cwd_override or (cwd if missing else None))
    if missing:
        _make_folder(Path(path).parent)
    if not os.path.isdir(session.cwd):
        session.close()
        raise MissingCwd(
            f"The working directory of this session is gone: {session.cwd} (session {path}, current directory {cwd}). "
            f"To go on here, copy it into this directory: --fork {path}"
        )
    return session


def session_notices(session: Session, *, thorough: bool) -> list[str]:
    """Return what the user should know of a session that was opened. Tells others that it is in use from now on.

    Without `thorough` damage is told as far as it was met: a single question need not wait for every line to be read.
    """
    notices = []
    if session.claim():
        notices.append(
            f"Session {session.id} is in use by another process. Both can go on: each continues a branch of its own."
        )
    if count := len(session.problems if thorough else session.known_problems):
        notices.append(
            f"{count} damaged line{'s' if count > 1 else ''} could not be read; "
            f"'piolet sessions verify {shlex.quote(session.path or '')}' tells more"
        )
    return notices


def _make_folder(folder: Path) -> None:
    try:
        make_private_folder(folder)
    except OSError as error:
        raise WriteFailed(f"The session folder {folder} cannot be made: {error.strerror}") from error
