"""Inline markdown as spans, and the one parser that reads it. markdown-it is loaded on use."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, TypeAlias

from piolet.tui.math import to_unicode
from piolet.tui.spans import PLAIN, Span, Style
from piolet.tui.text import expand_tabs

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

#: Never, when the text is complete, or as soon as the block of code is closed.
Mermaid: TypeAlias = Literal["off", "final", "streaming"]


@dataclass(frozen=True, slots=True)
class Look:
    """How markdown is drawn. `base` lies beneath all text; `hyperlinks`: the terminal has OSC 8, so an address need
    not be spelled out; `code_indent` stands before the lines of a code block; `mermaid`: when diagrams are drawn."""

    base: Style = PLAIN
    hyperlinks: bool = True
    code_indent: str = "  "
    mermaid: Mermaid = "off"


_BOLD, _ITALIC, _STRIKE = Style(bold=True), Style(italic=True), Style(strike=True)
_CODE = Style("mdCode")
_OPENINGS = {"strong_open": _BOLD, "em_open": _ITALIC, "s_open": _STRIKE}
_url = re.compile(r"https?://[^\s<>\"'`|\\^{}]*[^\s<>\"'`|\\^{}.,;:!?)\]]")
_formula = re.compile(
    r"\$\$(?P<display>[^$]+)\$\$|\$(?P<dollar>[^\s$](?:[^$\n]*[^\s$])?)\$(?!\w)|\\\((?P<round>.+?)\\\)"
)
_tex = re.compile(r".*[\\^_]|[A-Za-z]\Z")  # what tells a formula from two prices


@lru_cache(1)
def parser() -> MarkdownIt:
    """Return the parser: CommonMark without HTML, with tables, strikethrough and formulas."""
    from markdown_it import MarkdownIt

    markdown = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    markdown.inline.ruler.before("escape", "formula", _formula_rule)
    return markdown


def _formula_rule(state: StateInline, silent: bool) -> bool:
    """Read ``$x^2$``, ``$$...$$`` or ``\\(...\\)`` as text, if all of it can be written in Unicode."""
    if state.src[state.pos] not in "$\\":
        return False
    match = _formula.match(state.src, state.pos, state.posMax)
    tex = match and (match["display"] or match["dollar"] or match["round"])
    if not match or not tex or (match["dollar"] and not _tex.match(tex)):
        return False
    text = to_unicode(tex)
    if text is None:
        return False
    if not silent:
        state.push("text", "", 0).content = text
    state.pos = match.end()
    return True


def inline_rows(token: Token, look: Look, style: Style) -> list[list[Span]]:
    """Return the spans of an inline token, one list for each line that the text has by itself."""
    rows: list[list[Span]] = [[]]
    styles = [style]
    links: list[tuple[str, int, int]] = []  # address, and the row and span where its text begins
    for child in token.children or ():
        kind = child.type
        if kind == "text":
            rows[-1] += _text(child.content, styles[-1])
        elif kind == "code_inline":
            rows[-1].append(Span(expand_tabs(child.content), _CODE.over(styles[-1])))
        elif kind in ("softbreak", "hardbreak"):
            rows.append([])
        elif kind in _OPENINGS:
            styles.append(_OPENINGS[kind].over(styles[-1]))
        elif kind == "link_open":
            href = str(child.attrs.get("href", ""))
            links.append((href, len(rows) - 1, len(rows[-1])))
            styles.append(_link_style(href).over(styles[-1]))
        elif kind == "link_close":
            styles.pop()
            _spell_out(rows, *links.pop(), look, styles[-1])
        elif kind == "image":
            source = str(child.attrs.get("src", ""))
            start = len(rows[-1])
            rows[-1].append(Span(child.content or source, _link_style(source).over(styles[-1])))
            _spell_out(rows, source, len(rows) - 1, start, look, styles[-1])
        elif child.nesting < 0:
            styles.pop()
        elif child.content:
            rows[-1].append(Span(expand_tabs(child.content), styles[-1]))
    return rows


def _link_style(href: str) -> Style:
    return Style("mdLink", underline=True, link=href)


def _spell_out(rows: list[list[Span]], href: str, row: int, start: int, look: Look, style: Style) -> None:
    """Add the address behind the text of a link that could not be followed otherwise."""
    text = "".join(span.text for span in rows[row][start:]) if row == len(rows) - 1 else ""
    if not look.hyperlinks and text not in (href, href.removeprefix("mailto:")):
        rows[-1].append(Span(f" ({href})", Style("mdLinkUrl").over(style)))


def _text(content: str, style: Style) -> list[Span]:
    content = expand_tabs(content)
    if "://" not in content or style.link:
        return [Span(content, style)] if content else []
    spans: list[Span] = []
    at = 0
    for match in _url.finditer(content):
        if match.start() > at:
            spans.append(Span(content[at : match.start()], style))
        spans.append(Span(match[0], _link_style(match[0]).over(style)))
        at = match.end()
    if at < len(content):
        spans.append(Span(content[at:], style))
    return spans
