"""Marks in a terminal's scrollback (OSC 133), by which its keys jump from prompt to prompt. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from piolet.tui.spans import Line, Span

# Spans that take no cells: only what writes whole lines to a terminal gets them. The answer begins where the prompt
# ends: a terminal that waits for it may wipe the prompt away when its window changes.
_BEGIN, _END = Span("\x1b]133;A\x1b\\"), Span("\x1b]133;B\x1b\\\x1b]133;C\x1b\\")


def marked(lines: Sequence[Line]) -> Sequence[Line]:
    """Return the lines of a prompt with marks: A before it, B behind it, C before the answer."""
    if not lines:
        return lines
    *most, last = [(_BEGIN, *lines[0]), *lines[1:]]
    return [*most, (*last, _END)]
