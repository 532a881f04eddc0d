"""What is left in the terminal when the screen is gone: the conversation, and how to go on with it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

from piolet.harness.session.session import Session
from piolet.tui.ansi import AnsiWriter
from piolet.tui.blocks.frame import joined
from piolet.tui.prompt_marks import marked
from piolet.tui.spans import Color, Line
from piolet.tui.transcript import Transcript

#: Rows of the transcript that are printed; what is older stays in the session.
LAST_ROWS = 500


def last_lines(transcript: Transcript, limit: int = LAST_ROWS, *, marks: bool = True) -> list[Line]:
    """Return the last `limit` lines, with a blank line between blocks; `marks`: prompts are marked. Only what is
    returned is drawn."""
    groups: list[Sequence[Line]] = []
    count = 0
    for block in reversed(transcript.blocks):
        lines = block.lines(transcript.frame)
        if lines:
            groups.append(marked(lines) if marks and block.is_prompt else lines)
            count += len(lines) + 1
        if count > limit:
            break
    return joined(*reversed(groups))[-limit:]


def farewell(lines: Sequence[Line], session: Session | None, palette: Mapping[str, Color], *, links: bool) -> str:
    """Return what is printed: the lines given, and how to resume a session with a file."""
    text = "".join(f"{line}\n" for line in AnsiWriter(palette, links=links).lines(lines))
    if session is not None and session.saved:
        text += f"\nTo resume this session:\n  piolet --session {shlex.quote(session.id)}\n"
    return text
