"""Lines that the program itself says in the transcript; they are never part of the session."""

from __future__ import annotations

from collections.abc import Sequence

from piolet.tui.blocks.frame import DIM, Frame, inset, plain
from piolet.tui.spans import Line, Span, Style, clip, row
from piolet.tui.text import one_line

_WARNING, _ERROR, _HEADING = Style("warning"), Style("error"), Style("mdHeading")


def status_lines(text: str, frame: Frame) -> list[Line]:
    """Return a status; a later one takes its place."""
    return inset(plain(text, frame.text_width, DIM), frame)


def warning_lines(text: str, frame: Frame) -> list[Line]:
    return inset(plain(f"Warning: {text}", frame.text_width, _WARNING), frame)


def error_lines(text: str, frame: Frame) -> list[Line]:
    return inset(plain(f"Error: {text}", frame.text_width, _ERROR), frame)


def section_lines(title: str, items: Sequence[str], frame: Frame, *, problem: bool = False) -> list[Line]:
    """Return a heading like ``[Skills]`` over an indented list, an item a line; a `problem` is a warning, and
    shown whole."""
    heading = _WARNING if problem else _HEADING
    lines = [clip(row(f"[{one_line(title)}]", heading), frame.text_width)]
    if problem:
        wrapped = [line for item in items for line in plain(item, max(1, frame.text_width - 2), _WARNING)]
        lines += [(Span("  "), *line) for line in wrapped]
    else:
        lines += [clip(row(f"  {one_line(item)}", DIM), frame.text_width) for item in items]
    return inset(lines, frame)


def queue_lines(
    steering: Sequence[str], follow_up: Sequence[str], frame: Frame, edit_key: str = "alt+up"
) -> list[Line]:
    """Return what waits to be sent, one line each, and how to get it back into the editor."""
    texts = [f"Steering: {one_line(text)}" for text in steering]
    texts += [f"Follow-up: {one_line(text)}" for text in follow_up]
    if texts and edit_key:
        texts.append(f"↳ {_titled(edit_key)} to edit all queued messages")
    return inset([clip(row(text, DIM), frame.text_width) for text in texts], frame)


def _titled(key: str) -> str:
    """Return a key as it is written in a sentence: ``Alt+Up``."""
    return "+".join(part[:1].upper() + part[1:] for part in key.split("+"))
