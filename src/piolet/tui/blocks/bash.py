"""The card of a command that the user ran with ``!`` (terminal specification, section 5)."""

from __future__ import annotations

from dataclasses import dataclass

from piolet.tui.blocks.folding import last_rows, to_expand
from piolet.tui.blocks.frame import MUTED, Frame, inset, joined, plain
from piolet.tui.spans import Line, Style, row

FOLDED_ROWS = 20


@dataclass(frozen=True, slots=True)
class BashView:
    """A command and how it stands. `excluded`: the model never sees it (``!!``). `full_output_path` names the file
    with all output if `output` was cut; `cancel_keys` are named while it runs."""

    command: str
    output: str = ""
    running: bool = False
    exit_code: int | None = None
    cancelled: bool = False
    excluded: bool = False
    full_output_path: str = ""
    cancel_keys: str = "escape/ctrl+c"


def bash_lines(view: BashView, frame: Frame) -> list[Line]:
    """Return the card: rules above and below, the command, the last rows of its output, how it stands or ended."""
    style = Style("dim" if view.excluded else "bashMode")
    rule = row("─" * frame.width, style)
    command = plain(f"$ {view.command}", frame.text_width, style._replace(bold=True))
    inner = joined(command, _output(view, frame), _state(view, frame))
    return [rule, *inset(inner, frame), rule]


def _output(view: BashView, frame: Frame) -> list[Line]:
    text = view.output.rstrip("\n")
    if not text:
        return []
    if frame.expanded:
        return plain(text, frame.text_width, MUTED)
    rows, hidden = last_rows(text, FOLDED_ROWS, frame.text_width, MUTED)
    if hidden:
        key = to_expand(frame)
        rows.insert(0, row(f"... {hidden} more lines" + (f" ({key})" if key else ""), MUTED))
    return rows


def _state(view: BashView, frame: Frame) -> list[Line]:
    if view.running:
        return [row(f"Running... ({view.cancel_keys} to cancel)", MUTED)]
    lines: list[Line] = []
    if view.cancelled:
        lines += plain("(cancelled)", frame.text_width, Style("warning"))
    elif view.exit_code:
        lines += plain(f"(exit {view.exit_code})", frame.text_width, Style("error"))
    if view.full_output_path:
        note = f"Output truncated. Full output: {view.full_output_path}"
        lines += plain(note, frame.text_width, Style("warning"))
    return lines
