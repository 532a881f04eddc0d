"""A request that failed: one line, which counts the tries that failed in the same way."""

from __future__ import annotations

from collections.abc import Sequence

from piolet.llm.messages import AssistantMessage
from piolet.llm.plain_errors import in_plain_words
from piolet.tui.blocks.frame import Frame
from piolet.tui.blocks.live import DrawnBlock
from piolet.tui.blocks.messages import stop_lines
from piolet.tui.spans import Line


class FailureBlock(DrawnBlock):
    """Tells how `message` failed. `before`: the failure of the try before."""

    def __init__(self, message: AssistantMessage, before: FailureBlock | None) -> None:
        self.error = message.error_message or ""
        super().__init__(self._lines, in_plain_words(self.error, message.provider))
        self.tries: int = before.tries + 1 if before is not None else 1
        self._note = ""

    def give_up(self, why: str, retries: int) -> None:
        """Tell that no further try follows. `why` begins with the error; `retries` that were made."""
        self._note = why.removeprefix(self.error)
        if retries:
            self._note += f" (gave up after {retries + 1} tries)"

    def _lines(self, frame: Frame) -> Sequence[Line]:
        counted = f" (tried {self.tries} times)" if self.tries > 1 else ""
        return stop_lines("error", self.source + (self._note or counted), frame)
