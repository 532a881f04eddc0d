"""Opening a page that we have written in the user's browser."""

from __future__ import annotations

import subprocess

from piolet.llm.oauth.browser import find_opener


def open_page(path: str) -> bool:
    """Open the file at `path`, absolute; return whether something was started that should do it."""
    opener = find_opener()
    if opener is None:
        return False
    null = subprocess.DEVNULL
    subprocess.Popen([opener, path], stdin=null, stdout=null, stderr=null, start_new_session=True)
    return True
