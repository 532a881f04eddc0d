"""``--export FILE [OUT]``: write a session as an HTML page and end."""

from __future__ import annotations

import os
from pathlib import Path

from piolet.app.export.html import export_html
from piolet.app.options import RuntimeOptions
from piolet.app.secrets import Secrets
from piolet.app.services import early_place
from piolet.cli.session_choice import find_session
from piolet.harness.session.errors import SessionError
from piolet.harness.session.places import Found
from piolet.harness.session.session import Session


def export(reference: str, out: str | None, options: RuntimeOptions) -> int:
    """Write the session that `reference` names to `out`; return the exit code. Raises `SessionError`."""
    path = Path(options.cwd, reference)
    if not path.is_file():
        found = find_session(reference, early_place(options))
        path = Path(found.path) if isinstance(found, Found) else found
    if not path.is_file():
        raise SessionError(f"File not found: {path}")
    secrets = Secrets.of(options.agent_dir, os.environ)
    with Session.open(str(path), read_only=True) as session:
        written = export_html(session, secrets, str(options.cwd), out)
    print(f"Exported to: {written}")
    return 0
