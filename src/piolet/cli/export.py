"""Write a session as an HTML page: ``--export FILE [OUT]``, and for ``piolet sessions open``."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from piolet.app.export.html import export_html
from piolet.app.export.surroundings import Surroundings
from piolet.app.options import RuntimeOptions
from piolet.app.secrets import Secrets
from piolet.app.services import early_place
from piolet.cli.extensions import with_extensions
from piolet.cli.progress import Progress
from piolet.cli.session_choice import find_session
from piolet.harness.session.errors import SessionError
from piolet.harness.session.places import Found
from piolet.harness.session.session import Session
from piolet.modes.say import one_line, warn


def export(reference: str, out: str | None, options: RuntimeOptions) -> int:
    """Write the session that `reference` names to `out`; return the exit code. Raises `SessionError`."""
    path = Path(options.cwd, reference)
    if not path.is_file():
        found = find_session(reference, early_place(options))
        path = Path(found.path) if isinstance(found, Found) else found
    if not path.is_file():
        raise SessionError(f"File not found: {path}")
    print(f"Exported to: {one_line(write_page(str(path), out, options))}")
    return 0


def write_page(path: str, out: str | None, options: RuntimeOptions) -> str:
    """Write the session file at `path` as a page to `out`; return its path. Raises `SessionError`."""
    with Session.open(path, read_only=True) as session:
        around = asyncio.run(_surroundings(session, options))
        with Progress("Exporting"):
            return export_html(session, Secrets.of(options.agent_dir, os.environ), str(options.cwd), out, around)


async def _surroundings(session: Session, options: RuntimeOptions) -> Surroundings:
    """Return what settings and extensions bring to the page. What is wrong with them is a warning."""
    from piolet.app.export.surroundings import surroundings
    from piolet.app.settings import SettingsError
    from piolet.app.trust import TrustError

    try:
        async with with_extensions(options) as runtime:
            return surroundings(runtime, session)
    except (SettingsError, TrustError) as error:
        warn(str(error))
        return Surroundings()
