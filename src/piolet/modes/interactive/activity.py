"""What is under way, as the rule above the editor says it. Pure but for the clock that it is told."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from piolet.tui.blocks.rules import SPINNER, SPINNER_SECONDS, busy_text
from piolet.tui.spans import BLANK, Line

WORKING = "Working"


@dataclass
class Activity:
    """`message`: what is being done, empty when nothing is. `until`: when a wait is over, on the clock of `line`.

    `word`, `frames`, `seconds` and `visible` are what an extension may change of the working indicator.
    """

    message: str = ""
    until: float | None = None
    word: str = WORKING
    frames: Sequence[str] = SPINNER
    seconds: float = SPINNER_SECONDS
    visible: bool = True

    @property
    def busy(self) -> bool:
        return bool(self.message)

    def reset(self) -> None:
        """Take back what extensions have changed."""
        self.word, self.frames, self.seconds, self.visible = WORKING, SPINNER, SPINNER_SECONDS, True

    def work(self) -> None:
        """The model or its tools are at work."""
        self.message, self.until = self.word, None

    def say(self, message: str) -> None:
        """Something else is being done."""
        self.message, self.until = message, None

    def wait(self, message: str, until: float) -> None:
        """A wait that ends by itself; ``{}`` in `message` stands for the seconds that are left."""
        self.message, self.until = message, until

    def end(self) -> None:
        self.message, self.until = "", None

    def line(self, now: float) -> Line:
        """Return what the rule says at `now` (seconds); blank when nothing is under way."""
        if not self.message or not self.visible:
            return BLANK
        frame = self.frames[int(now / self.seconds) % len(self.frames)] if self.frames else ""
        left = "" if self.until is None else str(max(1, math.ceil(self.until - now)))
        return busy_text(frame, self.message.replace("{}", left))
