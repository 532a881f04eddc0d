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
    """`message`: what is being done, empty when nothing is. `began`, `wait_seconds`: when a wait began, on the clock of
    `line`, and how long it lasts. Unless `animated`, nothing changes while time passes.

    `word`, `frames`, `seconds` and `visible` are what an extension may change of the working indicator.
    """

    message: str = ""
    began: float = 0.0
    wait_seconds: float = 0.0
    animated: bool = True
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
        self.message = self.word

    def say(self, message: str) -> None:
        """Something else is being done."""
        self.message = message

    def wait(self, message: str, now: float, seconds: float) -> None:
        """A wait that ends by itself; ``{}`` in `message` stands for the seconds that are left."""
        self.message, self.began, self.wait_seconds = message, now, seconds

    def end(self) -> None:
        self.message = ""

    def line(self, now: float) -> Line:
        """Return what the rule says at `now` (seconds); blank when nothing is under way."""
        if not self.message or not self.visible:
            return BLANK
        passed = now - self.began if self.animated else 0.0
        left = max(1, math.ceil(self.wait_seconds - passed))
        return busy_text(self._frame(now), self.message.replace("{}", str(left)))

    def _frame(self, now: float) -> str:
        if not self.frames:
            return ""
        if not self.animated:  # a sign that is made to turn says nothing when it stands
            return "" if self.frames == SPINNER else self.frames[0]
        return self.frames[int(now / self.seconds) % len(self.frames)]
