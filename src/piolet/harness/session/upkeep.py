"""What people do with session files besides talking: rename and delete."""

from __future__ import annotations

import os
import shutil
from typing import Literal

from piolet.harness.session.errors import NotASession, SessionError, WriteFailed
from piolet.harness.session.places import discover_header
from piolet.harness.session.presence import Presence
from piolet.harness.session.session import Session

_TRASHES = (("trash",), ("trash-put",), ("gio", "trash"))


def rename_session(path: str, name: str) -> str | None:
    """Name the session at `path` by an entry at its end; an empty name clears. Return the name that it has then."""
    with Session.open(path) as session:
        session.append_session_info(name)
        return session.name


def delete_session(path: str) -> Literal["trash", "deleted"]:
    """Move a session file to the trash, or delete it where no trash works.

    Raises `NotASession` for anything else, `SessionError` if a process has it in use, `WriteFailed` if it cannot be
    deleted.
    """
    import subprocess

    path = os.path.abspath(path)
    if not os.path.lexists(path):
        raise SessionError(f"There is no session file {path}")
    if os.path.isfile(path) and not os.access(path, os.R_OK):
        raise SessionError(f"{path} cannot be read, so nobody knows whether it is a session; it was left as it is")
    if not os.path.isfile(path) or discover_header(path) is None:
        raise NotASession(f"{path} is not a session file; it was left as it is")
    presence = Presence(os.path.realpath(path))
    presence.close()
    if presence.others:
        raise SessionError(f"{path} is in use; end that session first")
    for command in _TRASHES:
        program = shutil.which(command[0])
        if program is None:
            continue
        try:
            subprocess.run([program, *command[1:], path], capture_output=True, timeout=30, check=False)
        except (OSError, subprocess.TimeoutExpired):
            continue
        if not os.path.lexists(path):
            return "trash"
    try:
        os.unlink(path)
    except OSError as error:
        raise WriteFailed(f"{path} cannot be deleted: {error.strerror}") from error
    return "deleted"
