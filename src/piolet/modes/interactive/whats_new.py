"""What has changed since the version that the user last saw."""

from __future__ import annotations

import re
from pathlib import Path

from piolet._version import __version__
from piolet.app.documentation import documentation_folder
from piolet.app.services import Services
from piolet.app.settings import SettingsError, lookup

_SEEN = ("piolet", "lastChangelogVersion")
_BREAK = re.compile(r"(?<=\S)\n {0,3}(?=[^\s#*+-])")  # within a paragraph or a point of a list
_RELEASE = re.compile(r"^## \[?([^\]\s]+)", re.MULTILINE)


def changelog_text() -> str:
    """Return the changelog that comes with the program, a line each paragraph; empty if there is none."""
    folder = documentation_folder("docs")
    if folder is None:
        return ""
    for path in (Path(folder, "CHANGELOG.md"), Path(folder).parent / "CHANGELOG.md"):
        if path.is_file():
            return _BREAK.sub(" ", path.read_text("utf-8"))
    return ""


def changes_since(changelog: str, seen: str) -> str:
    """Return the parts of `changelog` above that of the version `seen`; everything if there is none of it."""
    starts = list(_RELEASE.finditer(changelog))
    end = next((match.start() for match in starts if match[1] == seen), len(changelog))
    return changelog[starts[0].start() : end].strip() if starts else ""


def news(services: Services) -> str:
    """Return what is new to the user, as markdown, and remember that it was told; empty if nothing is.

    Who starts the program for the first time is told nothing.
    """
    settings = services.settings
    seen = lookup(settings.user, ".".join(_SEEN))
    if seen == __version__:
        return ""
    try:
        services.files.write(_SEEN, __version__)
    except SettingsError:
        return ""  # it would be told again at every start
    if not isinstance(seen, str):
        return ""
    if settings.collapse_changelog:
        return f"**What's New**: piolet {__version__} (/changelog tells more)"
    changes = changes_since(changelog_text(), seen)
    return f"# What's New\n\n{changes}" if changes else ""
