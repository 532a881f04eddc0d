"""The footer: where we are, what it cost, how full the context is, which model answers (specification, section 1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from piolet.tui.blocks.frame import DIM
from piolet.tui.spans import BLANK, Line, Span, Style, clip, columns, line_width, row
from piolet.tui.text import one_line

WARNING_PERCENT, ERROR_PERCENT = 70, 90


@dataclass(frozen=True, slots=True)
class FooterView:
    """What the footer says. Token counts and `cost` (US dollars) are of the whole session; `hit_percent` is that of the
    last request. `context_percent` None: not known right now. `thinking` is empty for a model that does not reason.
    `providers`: how many are usable. `elsewhere`: where tools act, empty for here."""

    cwd: str
    branch: str = ""
    session_name: str = ""
    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    hit_percent: float | None = None
    cost: float = 0.0
    subscription: bool = False
    context_percent: float | None = None
    context_window: int = 0
    auto_compact: bool = True
    provider: str = ""
    providers: int = 1
    model: str = ""
    thinking: str = ""
    home: str = ""
    elsewhere: str = ""


def footer_lines(view: FooterView, width: int, statuses: Mapping[str, str] | None = None) -> list[Line]:
    """Return two lines, and a third one if extensions set a status."""
    lines = [clip(row(place(view), DIM), width), _numbers(view, width)]
    if statuses:
        lines.append(clip(row(" ".join(one_line(statuses[key]) for key in sorted(statuses)), DIM), width))
    return lines


def place(view: FooterView) -> str:
    """Return the folder with ``~`` for home, the branch, the name of the session, and where tools act if not here."""
    cwd = view.cwd
    if view.home and (cwd == view.home or cwd.startswith(view.home + "/")):
        cwd = "~" + cwd[len(view.home) :]
    branch = f" ({one_line(view.branch)})" if view.branch else ""
    name = f" • {one_line(view.session_name)}" if view.session_name else ""
    elsewhere = f" → {one_line(view.elsewhere)}" if view.elsewhere else ""
    return one_line(cwd) + branch + name + elsewhere


def count(number: int) -> str:
    """Return a number of tokens in few characters: 999, 9.9k, 999k, 9.9M, 12M."""
    if number < 1000:
        return str(number)
    if number < 10_000:
        return f"{number / 1000:.1f}k"
    if number < 1_000_000:
        return f"{number / 1000:.0f}k"
    return f"{number / 1e6:.1f}M" if number < 10_000_000 else f"{number / 1e6:.0f}M"


def _numbers(view: FooterView, width: int) -> Line:
    parts = [
        f"{sign}{count(number)}"
        for sign, number in (("↑", view.input), ("↓", view.output), ("R", view.cache_read), ("W", view.cache_write))
        if number
    ]
    if view.hit_percent is not None and (view.cache_read or view.cache_write):
        parts.append(f"CH{view.hit_percent:.0f}%")
    if view.cost or view.subscription:
        parts.append(f"${view.cost:.3f}" + (" (sub)" if view.subscription else ""))
    left = (*row(" ".join(parts) + " " if parts else "", DIM), *_context(view))
    right = row(_model(view), DIM)
    provider = row(f"({one_line(view.provider)}) ", DIM) if view.provider and view.providers > 1 else BLANK
    if line_width(left) + line_width(provider) + line_width(right) + 2 <= width:
        right = (*provider, *right)
    return columns(left, right, width)


def _context(view: FooterView) -> Line:
    if not view.context_window:
        return BLANK
    percent = view.context_percent
    text = f"{'?' if percent is None else f'{percent:.1f}%'}/{count(view.context_window)}"
    if view.auto_compact:
        text += " (auto)"
    level = percent or 0
    token = "error" if level > ERROR_PERCENT else "warning" if level > WARNING_PERCENT else "dim"
    return (Span(text, Style(token)),)


def _model(view: FooterView) -> str:
    text = one_line(view.model) or "no model"
    if view.thinking:
        text += " • thinking off" if view.thinking == "off" else f" • {view.thinking}"
    return text
