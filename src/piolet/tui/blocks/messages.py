"""What the user, the assistant and extensions said, and summaries (terminal specification, section 6)."""

from __future__ import annotations

from collections.abc import Sequence

from piolet.tui.blocks.folding import titled
from piolet.tui.blocks.frame import MUTED, Frame, box, inset, joined, markdown, plain
from piolet.tui.blocks.pictures import picture_lines
from piolet.tui.pictures import Picture
from piolet.tui.spans import Line, Span, Style, clip, row
from piolet.tui.text import one_line

THINKING_LABEL = "Thinking..."
_USER = Style("userMessageText")
_CUSTOM = Style("customMessageText")
_LABEL = Style("customMessageLabel", bold=True)
_THINKING = Style("thinkingText", italic=True)
_ERROR = Style("error")


def user_lines(text: str, frame: Frame, pictures: Sequence[Picture] = ()) -> list[Line]:
    """Return a user message, its pictures below the text."""
    body = markdown(text, frame.box_width, frame, _USER) if text.strip() else []
    return box(joined(body, picture_lines(pictures, frame.box_width, frame, MUTED)), frame, "userMessageBg")


def skill_lines(name: str, content: str, frame: Frame) -> list[Line]:
    """Return a skill that the user called, its content folded."""
    return labelled("skill", one_line(name), content, frame)


def assistant_lines(text: str, frame: Frame) -> list[Line]:
    """Return a text block of an answer."""
    return inset(markdown(text.strip(), frame.text_width, frame), frame)


def thinking_lines(text: str, frame: Frame, *, hidden: bool = False, label: str = THINKING_LABEL) -> list[Line]:
    """Return a thinking block; `hidden`: as the one line `label`, and as nothing if that is empty."""
    if not text.strip():
        return []
    if hidden:
        return inset([clip(row(one_line(label), _THINKING), frame.text_width)], frame) if label else []
    return inset(markdown(text.strip(), frame.text_width, frame, _THINKING), frame)


def stop_lines(reason: str, error: str, frame: Frame) -> list[Line]:
    """Return what is said below an answer that did not end by itself; nothing for other reasons."""
    match reason:
        case "length":
            text = "The answer was cut off: the model reached its output limit."
        case "error":
            text = f"Error: {error or 'the request failed'}"
        case "aborted":
            text = error if error and error != "aborted" else "Operation aborted"
        case _:
            return []
    return inset(plain(text, frame.text_width, _ERROR), frame)


def custom_lines(custom_type: str, text: str, frame: Frame, pictures: Sequence[Picture] = ()) -> list[Line]:
    """Return a message of an extension that has no renderer of its own."""
    head = clip(row(f"[{one_line(custom_type)}]", _LABEL), frame.box_width)
    body = markdown(text, frame.box_width, frame, _CUSTOM)
    return box(joined([head], body, picture_lines(pictures, frame.box_width, frame, MUTED)), frame, "customMessageBg")


def compaction_lines(summary: str, tokens_before: int, frame: Frame) -> list[Line]:
    """Return a compaction, its summary folded."""
    return labelled("compaction", f"Compacted from {tokens_before:,} tokens", summary, frame)


def branch_lines(summary: str, frame: Frame) -> list[Line]:
    """Return the summary of a branch that was left, folded."""
    return labelled("branch", "Branch summary", summary, frame)


def labelled(label: str, title: str, content: str, frame: Frame) -> list[Line]:
    """Return a box that shows ``[label] title (ctrl+o to expand)``, and when expanded its markdown content."""
    head = clip((Span(f"[{label}] ", _LABEL), Span(titled(title, frame), _CUSTOM)), frame.box_width)
    body = markdown(content, frame.box_width, frame, _CUSTOM) if frame.expanded else []
    return box(joined([head], body), frame, "customMessageBg")
