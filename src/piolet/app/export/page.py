"""The page of a session: style, script and data in one file."""

from __future__ import annotations

from html import escape
from string import Template

from piolet._version import __version__
from piolet.app.export.facts import session_facts, session_lines, title_of
from piolet.app.export.parts import read_part
from piolet.app.export.styles import policy, theme_style
from piolet.app.export.surroundings import Surroundings
from piolet.app.secrets import Secrets
from piolet.base.json import dumps
from piolet.harness.session.session import Session
from piolet.tui.text import one_line

#: The scripts, in the order in which they stand in the page.
SCRIPTS = ("data", "dom", "code", "markdown", "tools", "entries", "tree", "sidebar", "chart", "page")


def page(session: Session, secrets: Secrets, around: Surroundings) -> str:
    """Return the HTML of the whole session."""
    style = theme_style(around.light, around.dark) + read_part("viewer.css")
    script = '(() => {\n"use strict";\n' + "\n".join(read_part(f"{name}.js") for name in SCRIPTS) + "})();\n"
    return Template(read_part("viewer.html")).substitute(
        policy=policy(style, script),
        generator=f"piolet {__version__}",
        title=escape(secrets.mask(one_line(title_of(session)))),
        style=style,
        script=script,
        facts=_inert(dumps(session_facts(session, secrets, around))),
        session=_inert("[\n" + ",\n".join(session_lines(session, secrets)) + "\n]"),
    )


def _inert(json: str) -> str:
    """Return JSON that can end no element: ``<`` stands in strings alone, where its escape means the same."""
    return json.replace("<", "\\u003c")
