"""Which session the command line means (the command line specification, section 6)."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from piolet.app.options import (
    ContinueSession,
    ExactSession,
    ForkSession,
    NewSession,
    OpenSession,
    SessionChoice,
)
from piolet.cli.args import Arguments
from piolet.harness.session.errors import SessionError
from piolet.harness.session.naming import session_id
from piolet.harness.session.places import SessionPlace


def choose_session(arguments: Arguments, place: SessionPlace) -> SessionChoice:
    """Return the session to open. Raises `SessionError` when nothing fits."""
    chosen_id = session_id(arguments.session_id) if arguments.session_id is not None else None
    if arguments.no_session:
        return NewSession(chosen_id, in_memory=True)
    if arguments.fork is not None:
        return ForkSession(_find(arguments.fork, place), chosen_id)
    if arguments.session is not None:
        return OpenSession(_find(arguments.session, place))
    if arguments.continue_:
        return ContinueSession()
    if chosen_id is not None:
        if place.find_id(chosen_id) is None:
            print(
                f"Warning: No project session found with id '{chosen_id}'; creating a new session with that id.",
                file=sys.stderr,
            )
        return ExactSession(chosen_id)
    return NewSession()


def _find(reference: str, place: SessionPlace) -> Path:
    """Return the file that a path, an id or the beginning of an id stands for."""
    if "/" in reference or "\\" in reference or reference.endswith(".jsonl"):
        return Path(os.path.normpath(Path(place.cwd) / Path(reference).expanduser()))
    found = place.find(reference)
    if found is None:
        raise SessionError(f"No session found matching '{reference}'")
    return Path(found.path)
