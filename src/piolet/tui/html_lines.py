"""Styled lines as HTML, for exported pages: theme tokens become CSS variables (``var(--accent)``)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape

from piolet.tui.spans import PLAIN, Color, Line, Style
from piolet.tui.theme_color import rgb

_safe_link = re.compile(r"(?:https?|mailto):", re.IGNORECASE)


def lines_html(lines: Iterable[Line]) -> str:
    """Return the lines as the content of a ``<pre>``: escaped text in ``<span>``s, parted by line feeds."""
    return "\n".join("".join(_span(text, style) for text, style in line) for line in lines)


def _span(text: str, style: Style) -> str:
    content = escape(text)
    css = _css(style)
    if css:
        content = f'<span style="{css}">{content}</span>'
    if style.link and _safe_link.match(style.link):
        content = f'<a href="{escape(style.link)}" rel="noopener noreferrer">{content}</a>'
    return content


def _css(style: Style) -> str:
    if style == PLAIN:
        return ""
    fg, bg = style.fg, style.bg
    rules = []
    if style.reverse:
        fg, bg = ("pageBg" if bg is None else bg), ("text" if fg is None else fg)
    if fg is not None and fg != "":
        rules.append(f"color:{_value(fg)}")
    if bg is not None and bg != "":
        rules.append(f"background:{_value(bg)}")
    if style.bold:
        rules.append("font-weight:bold")
    if style.dim:
        rules.append("opacity:.7")
    if style.italic:
        rules.append("font-style:italic")
    lines = [name for on, name in ((style.underline, "underline"), (style.strike, "line-through")) if on]
    if lines:
        rules.append(f"text-decoration:{' '.join(lines)}")
    return ";".join(rules)


def _value(color: Color) -> str:
    if isinstance(color, int):
        return rgb(color).hex
    return color if color.startswith("#") else f"var(--{color})"
