"""What a diagram is drawn as, and whether it is as a text says."""

from __future__ import annotations

from textwrap import dedent

from piolet.tui.mermaid import diagram
from piolet.tui.spans import line_text


def drawn(source: str, limit: int = 80) -> str | None:
    """Return the drawing as one text; None if there is none."""
    lines = diagram(dedent(source), limit)
    return None if lines is None else "\n".join(map(line_text, lines))


def shows(source: str, picture: str, limit: int = 80) -> bool:
    """Return whether the diagram is drawn like `picture`, which stands between two empty lines; prints it if not."""
    found = drawn(source, limit)
    wanted = "\n".join(row.rstrip() for row in dedent(picture).strip("\n").rstrip().split("\n"))
    if found is None or dedent(found) != wanted:
        print(found)
        return False
    return True
