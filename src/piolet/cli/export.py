"""Write a session to a file: ``--export FILE [OUT]``, and the page for ``piolet sessions open``."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from piolet.app.export.html import export_html
from piolet.app.export.surroundings import Surroundings
from piolet.app.options import RuntimeOptions
from piolet.app.secrets import Secrets
from piolet.app.services import early_place
from piolet.cli.extensions import with_extensions
from piolet.cli.progress import Progress
from piolet.cli.session_choice import find_session
from piolet.harness.session.copying import export_jsonl
from piolet.harness.session.errors import SessionError
from piolet.harness.session.places import Found
from piolet.harness.session.session import Session
from piolet.modes.say import failure_teller, one_line, warn


def export(reference: str, out: str | None, options: RuntimeOptions) -> int:
    """Write the session that `reference` names to `out`: a page, or JSONL if it says so; return the exit code.

    ``-`` is standard output. Raises `SessionError`.
    """
    path = Path(options.cwd, reference)
    if not path.is_file():
        found = find_session(reference, early_place(options))
        path = Path(found.path) if isinstance(found, Found) else found
    if not path.is_file():
        raise SessionError(f"File not found: {path}")
    if out == "-":
        _print_page(str(path), options)
        return 0
    if out is not None and out.lower().endswith(".jsonl"):
        with Session.open(str(path), read_only=True) as session, Progress("Exporting"):
            export_jsonl(session, os.path.join(options.cwd, os.path.expanduser(out)))
    else:
        out = write_page(str(path), out, options)
    print(f"Exported to: {one_line(out)}")
    return 0


def write_page(path: str, out: str | None, options: RuntimeOptions) -> str:
    """Write the session file at `path` as a page to `out`; return its path. Raises `SessionError`."""
    with Session.open(path, read_only=True) as session:
        around = asyncio.run(_surroundings(session, options))
        with Progress("Exporting"):
            return export_html(session, _secrets(options), str(options.cwd), out, around)


def _print_page(path: str, options: RuntimeOptions) -> None:
    from piolet.app.export.page import page

    with Session.open(path, read_only=True) as session:
        html = page(session, _secrets(options), asyncio.run(_surroundings(session, options)))
    write_out(html.encode("utf-8", "replace"))


def write_out(data: bytes) -> None:
    """Write an export to standard output. Raises `SessionError`; what could not be written is dropped."""
    try:
        sys.stdout.buffer.write(data)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.close(null)
        raise SessionError(f"Standard output cannot be written: {error.strerror}") from None


def _secrets(options: RuntimeOptions) -> Secrets:
    return Secrets.of(options.agent_dir, os.environ)


async def _surroundings(session: Session, options: RuntimeOptions) -> Surroundings:
    """Return what settings and extensions bring to the page. What is wrong with them is a warning."""
    from piolet.app.export.surroundings import surroundings
    from piolet.app.settings import SettingsError
    from piolet.app.trust import TrustError

    try:
        async with with_extensions(options) as runtime:
            runtime.on_failure = failure_teller(verbose=options.verbose)
            return surroundings(runtime, session)
    except (SettingsError, TrustError) as error:
        warn(str(error))
        return Surroundings()
