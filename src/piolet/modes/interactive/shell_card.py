"""The card of a command that the user runs with ``!``, while it runs and after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from piolet.harness.messages import BashExecutionMessage
from piolet.tui.blocks.bash import BashView, bash_lines
from piolet.tui.blocks.frame import Frame
from piolet.tui.spans import Line

#: Characters of the output that are kept for drawing while a command runs; the card shows its last rows.
TAIL_CHARS = 32_768


class ShellCard:
    """The card of a command, while it runs and after; a block of the transcript."""

    is_prompt = False

    def __init__(self, command: str, *, excluded: bool, cancel_keys: str = "") -> None:
        self._view = BashView(command, running=True, excluded=excluded, cancel_keys=cancel_keys)
        self._pieces: list[str] = []
        self._size = 0

    @classmethod
    def of(cls, message: BashExecutionMessage) -> ShellCard:
        """Return the card of a command that has ended."""
        card = cls(message.command, excluded=bool(message.exclude_from_context))
        card.finish(message)
        return card

    @property
    def source(self) -> str:
        return f"{self._view.command}\n{self._view.output[-2000:]}"

    @property
    def done(self) -> bool:
        return not self._view.running

    def append(self, text: str) -> None:
        """Take a piece of output."""
        self._pieces.append(text)
        self._size += len(text)
        if self._size > 2 * TAIL_CHARS:
            self._pieces = ["".join(self._pieces)[-TAIL_CHARS:]]
            self._size = TAIL_CHARS

    def finish(self, message: BashExecutionMessage) -> None:
        """The command has ended."""
        self._pieces = []
        self._view = BashView(
            message.command,
            message.output,
            exit_code=message.exit_code,
            cancelled=message.cancelled,
            excluded=bool(message.exclude_from_context),
            full_output_path=message.full_output_path or "",
        )

    def lines(self, frame: Frame) -> Sequence[Line]:
        view = replace(self._view, output="".join(self._pieces)) if self._view.running else self._view
        return bash_lines(view, frame)
