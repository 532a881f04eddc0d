"""The rules above and below the editor, with what is written into them."""

from __future__ import annotations

from piolet.tui.spans import Color, Line, Span, Style, clip, line_width, row
from piolet.tui.text import one_line

LEAD = "── "
SPINNER = ("⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏")
SPINNER_SECONDS = 0.08


def rule(width: int, color: Color, text: Line = (), right: str = "") -> Line:
    """Return a rule with `text` near its left and `right` near its right end: ``── ⠋ Working ─── ↑ 3 more ──``."""
    style = Style(color)
    spans: list[Span] = []
    if text:
        spans += (Span(LEAD, style), *clip(text, max(0, width - 4)), Span(" ", style))
    end = f" {right} ──" if right else ""
    missing = width - line_width(spans) - len(end)
    if missing < 1:
        end, missing = "", width - line_width(spans)
    spans.append(Span("─" * missing + end, style))
    return clip(tuple(spans), width, "")


def busy_text(frame: str, message: str) -> Line:
    """Return the spinner and what is being done."""
    spinner = row(f"{frame} " if frame else "", Style("accent"))
    return (*spinner, *row(one_line(message), Style("muted")))


def more(hidden: int, *, above: bool) -> str:
    """Return how many rows of the editor are out of sight; empty if none."""
    return f"{'↑' if above else '↓'} {hidden} more" if hidden else ""
