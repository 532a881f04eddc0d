"""A model's reasoning in the transcript: shown while it arrives, or hidden behind one line."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from piolet.tui.blocks.frame import Frame
from piolet.tui.blocks.live import GrowingMarkdown
from piolet.tui.blocks.messages import THINKING_LABEL, thinking_lines
from piolet.tui.spans import Line, Style


class ThinkingBlock(GrowingMarkdown):
    """`hidden`: only `label` is drawn, and nothing if that is empty."""

    def __init__(
        self, *, hidden: bool, label: str = THINKING_LABEL, transform: Callable[[str, bool], str] | None = None
    ) -> None:
        super().__init__(Style("thinkingText", italic=True), transform)
        self.hidden = hidden
        self.label = label

    def lines(self, frame: Frame) -> Sequence[Line]:
        if self.hidden or not self.source.strip():
            return thinking_lines(self.source, frame, hidden=self.hidden, label=self.label)
        return super().lines(frame)

    def settle(self, frame: Frame) -> Sequence[Line]:
        return () if self.hidden else super().settle(frame)

    def rest(self, frame: Frame) -> Sequence[Line]:
        if self.hidden:
            return () if self.settled else self.lines(frame)
        return super().rest(frame)
