"""Opening a sign-in page. Addresses come from servers and configuration, so only plain web addresses are opened."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import threading

_web_address = re.compile(r"https?://[^\s\x00-\x20\x7f-\x9f\"'<>\\^`{|}]+", re.IGNORECASE)


def may_open_url(url: str) -> bool:
    """Whether `url` is http or https, with a host and without control characters, blanks or quotes."""
    return _web_address.fullmatch(url) is not None


def find_opener() -> str | None:
    """Return the program of this machine that opens addresses and files, if it has one."""
    names = ("open",) if sys.platform == "darwin" else ("wslview", "xdg-open")
    return next(filter(None, map(shutil.which, names)), None)


def open_url(url: str) -> bool:
    """Open `url` in the user's browser; return whether something was started that should do it."""
    opener = find_opener()
    if opener is None or not may_open_url(url):
        return False
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    threading.Thread(target=subprocess.run, args=([opener, url],), kwargs=quiet, daemon=True).start()
    return True
