"""The source of a diagram as statements, and what is common to the texts in it."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable

from piolet.tui import text as cells

MAX_CHARS, MAX_LINE, MAX_STATEMENTS = 20_000, 1_000, 400

_front = re.compile(r"\s*---[ \t]*\n.*?\n[ \t]*---[ \t]*(?:\n|\Z)", re.DOTALL)
_directive = re.compile(r"%%\{[^%]*\}%%")
_comment = re.compile(r"(?:\A|\s)%%.*")
_entity = re.compile(r"#(\w{1,31});")
_break = re.compile(r"<br\s*/?>|\\n|\n", re.IGNORECASE)
_icon = re.compile(r"\bfa[a-z]?:fa-[\w-]+ ?")
_tag = re.compile(r"</?[a-zA-Z][^<>]*>")


class Unreadable(Exception):
    """The text is no diagram that can be drawn: it says, or is, too much."""


def statements(source: str) -> list[str]:
    """Return the lines that say something, without comments, directives and what stands before the diagram; each run of
    blanks is one."""
    if len(source) > MAX_CHARS:
        raise Unreadable
    source = _directive.sub("", _front.sub("", source, count=1))
    lines = [" ".join(_comment.sub("", line).split()) for line in source.split("\n")]
    kept = [line for line in lines if line]
    if not kept or len(kept) > MAX_STATEMENTS or max(map(len, kept)) > MAX_LINE:
        raise Unreadable
    return kept


def label(text: str) -> list[str]:
    """Return the rows of a text: quotes, tags and icons are taken off, entities are what they stand for."""
    text = _icon.sub("", text).strip()
    for quote in '"`':
        if len(text) > 1 and text[0] == text[-1] == quote:
            text = text[1:-1]
    rows = [_tag.sub("", part) for part in _break.split(text)]
    rows = [cells.one_line(html.unescape(_entity.sub(_named, part))) for part in rows]
    return rows if any(rows) else []


def _named(match: re.Match[str]) -> str:
    name = match[1]
    return f"&#{name};" if name.isdigit() else f"&{name};"


def wrapped(rows: Iterable[str], limit: int) -> list[str]:
    """Return `rows` in at most `limit` cells each."""
    return [piece for row in rows for piece in cells.wrap(row, limit)]


def widest(rows: Iterable[str]) -> int:
    """Return the cells of the widest row."""
    return max(map(cells.width, rows), default=0)
