"""Write a session as an HTML file."""

from __future__ import annotations

import os
from pathlib import Path

from piolet.app.export.surroundings import Surroundings
from piolet.app.secrets import Secrets
from piolet.base.files import write_private
from piolet.harness.session.errors import NotSaved, SessionError, WriteFailed
from piolet.harness.session.session import Session


def export_html(
    session: Session, secrets: Secrets, cwd: str, path: str | None = None, around: Surroundings | None = None
) -> str:
    """Write all branches of `session` to `path` and return it.

    By default the file is ``piolet-session-NAME.html`` in `cwd`, to which `path` is relative too. Only the user may
    read it. Raises `NotSaved` if there is no file to export yet, `SessionError` if `path` is the session itself,
    `WriteFailed`.
    """
    if session.path is None:
        raise NotSaved("Cannot export in-memory session to HTML")
    if not session.saved:
        raise NotSaved("Nothing to export yet - start a conversation first")
    from piolet.app.export.page import page

    target = path or f"piolet-session-{Path(session.path).stem}.html"
    written = Path(os.path.join(cwd, os.path.expanduser(target)))
    if os.path.realpath(written) == os.path.realpath(session.path):
        raise SessionError(f"{target} is the session itself; choose another file for the export")
    html = page(session, secrets, around or Surroundings())
    try:
        write_private(written, html.encode("utf-8", "replace"))
    except OSError as error:
        raise WriteFailed(f"{target} cannot be written: {error.strerror}") from error
    return target
