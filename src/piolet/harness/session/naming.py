"""Names of session folders, files and ids (session format, section 1)."""

from __future__ import annotations

import os
import re

from piolet.base.ids import uuid7
from piolet.harness.session.errors import InvalidSessionId

_SEPARATORS = re.compile(r"[/\\:]")
_ID = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")


def is_session_id(text: str) -> bool:
    """Whether a user may give `text` as the id of a session."""
    return _ID.fullmatch(text) is not None


def session_id(given: str | None) -> str:
    """Return `given`, or a new id if it is None. Raises `InvalidSessionId`."""
    if given is None:
        return uuid7()
    if not is_session_id(given):
        raise InvalidSessionId(
            f"{given!r} cannot be a session id: use letters, digits, '.', '_' and '-', first and last a letter or digit"
        )
    return given


def folder_name(cwd: str) -> str:
    """Return the name of the folder that holds the sessions of a working directory. Links are not followed."""
    path = os.path.abspath(cwd).lstrip("/")
    return "--" + _SEPARATORS.sub("-", path) + "--"


def default_folder(agent_dir: str, cwd: str) -> str:
    """Return where sessions of `cwd` are kept unless the user chose a folder."""
    return os.path.join(agent_dir, "sessions", folder_name(cwd))


def file_name(timestamp: str, session_id: str) -> str:
    """Return the name of a session file from the time and id in its header."""
    return f"{dashed(timestamp)}_{session_id}.jsonl"


def dashed(timestamp: str) -> str:
    """Return an ISO time in a form that is fit for file names."""
    return timestamp.replace(":", "-").replace(".", "-")
