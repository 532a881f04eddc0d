"""Which session the command line means (the command line specification, section 6)."""

from __future__ import annotations

import os
import sys
from datetime import datetime
from pathlib import Path

from piolet.app.options import (
    ContinueSession,
    ExactSession,
    ForkSession,
    NewSession,
    OpenSession,
    SessionChoice,
)
from piolet.base.ansi import strip_escapes
from piolet.cli.args import Arguments
from piolet.harness.session.errors import SessionError
from piolet.harness.session.naming import session_id
from piolet.harness.session.places import Found, SessionPlace
from piolet.modes.say import say, warn

#: Sessions that a list without a full screen shows.
LISTED = 20


class Refused(Exception):
    """The user was asked and said no. `on_stderr`: standard output belongs to a protocol."""

    def __init__(self, *, on_stderr: bool = False) -> None:
        super().__init__()
        self.on_stderr = on_stderr


def choose_session(arguments: Arguments, place: SessionPlace) -> SessionChoice:
    """Return the session to open. Raises `SessionError` when nothing fits, `Refused`."""
    chosen_id = session_id(arguments.session_id) if arguments.session_id is not None else None
    if arguments.no_session:
        return NewSession(chosen_id, in_memory=True)
    if arguments.fork is not None:
        if chosen_id is not None and place.find_id(chosen_id) is not None:
            raise SessionError(f"A session with the id '{chosen_id}' is here already; choose another --session-id")
        return ForkSession(_fork_source(arguments.fork, place), chosen_id)
    if arguments.session is not None:
        return _named(arguments.session, place, on_stderr=arguments.mode in ("json", "rpc"))
    if arguments.resume:
        return OpenSession(_ask_which(place))
    if arguments.continue_:
        return ContinueSession()
    if chosen_id is not None:
        if place.find_id(chosen_id) is None:
            warn(f"No project session found with id '{chosen_id}'; creating a new session with that id.")
        return ExactSession(chosen_id)
    return NewSession()


def chosen_on_screen(arguments: Arguments) -> bool:
    """Whether the session is to be chosen from a list and nothing else says which it is."""
    named = arguments.no_session or arguments.fork is not None or arguments.session is not None
    return arguments.resume and not named


def find_session(reference: str, place: SessionPlace) -> Path | Found:
    """Return the path that `reference` is, or the session whose id it is or begins. Raises `SessionError`."""
    if "/" in reference or "\\" in reference or reference.endswith(".jsonl"):
        return Path(os.path.normpath(os.path.join(place.cwd, os.path.expanduser(reference))))
    found = place.find(reference)
    if found is None:
        raise SessionError(f"No session found matching '{reference}'")
    return found


def _fork_source(reference: str, place: SessionPlace) -> Path:
    found = find_session(reference, place)
    path = Path(found.path) if isinstance(found, Found) else found
    if not path.is_file():
        raise SessionError(f"There is no session file {path} to fork")
    return path


def _named(reference: str, place: SessionPlace, *, on_stderr: bool) -> SessionChoice:
    """Return the session that ``--session`` names; one of another folder is forked into this one, if that is wanted."""
    found = find_session(reference, place)
    if not isinstance(found, Found):
        return OpenSession(found)
    if found.here:
        return OpenSession(Path(found.path))
    stream = sys.stderr if on_stderr else sys.stdout
    print(f"The session was found in another directory: {strip_escapes(found.cwd)}", file=stream)
    print("Fork this session into current directory? [y/N] ", end="", flush=True, file=stream)
    if _read_line().strip().lower() not in ("y", "yes"):
        raise Refused(on_stderr=on_stderr)
    return ForkSession(Path(found.path))


def _ask_which(place: SessionPlace) -> Path:
    """Show the sessions of the folder, newest first, and return the one whose number is given."""
    if not sys.stdin.isatty():
        raise SessionError(
            "--resume needs a terminal to choose in: use --continue, or --session ID (piolet sessions list)"
        )
    infos = place.sessions()[:LISTED]
    if not infos:
        raise SessionError("No sessions here yet: start without --resume")
    for number, info in enumerate(infos, 1):
        time = datetime.fromtimestamp(info.modified / 1000).strftime("%Y-%m-%d %H:%M")
        title = info.name or info.first_message[:200]
        say(f"{number:3}.  {time}  {info.message_count:5}  {title}"[:160])
    while True:
        print(f"Which session? [1-{len(infos)}, empty to leave] ", end="", file=sys.stderr, flush=True)
        answer = _read_line().strip()
        if not answer:
            raise Refused
        if answer.isdecimal() and 1 <= int(answer) <= len(infos):
            return Path(infos[int(answer) - 1].path)


def _read_line() -> str:
    """Read one line of standard input and not a byte more: what follows may be the prompt."""
    line = b""
    while (byte := os.read(0, 1)) not in (b"", b"\n"):
        line += byte
    return line.decode(errors="replace")
