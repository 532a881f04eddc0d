"""The prompts that were sent before, and browsing them without losing the one that is being written."""

from __future__ import annotations

from collections.abc import Iterable

LIMIT = 100


class PromptHistory:
    """The last prompts, oldest first; neighbours differ."""

    def __init__(self, prompts: Iterable[str] = ()) -> None:
        self._prompts: list[str] = []
        self._at: int | None = None
        self._draft = ""
        for prompt in prompts:
            self.add(prompt)

    @property
    def browsing(self) -> bool:
        """Whether an older prompt is shown in place of the draft."""
        return self._at is not None

    def add(self, prompt: str) -> None:
        """Remember `prompt` as the newest, unless it is blank or the newest already; browsing ends."""
        self._at = None
        if prompt.strip() and self._prompts[-1:] != [prompt]:
            self._prompts = [*self._prompts, prompt][-LIMIT:]

    def older(self, shown: str) -> str | None:
        """Return the prompt before the one shown, None at the end; `shown` is kept as the draft when browsing
        begins."""
        at = len(self._prompts) if self._at is None else self._at
        if at == 0:
            return None
        if self._at is None:
            self._draft = shown
        self._at = at - 1
        return self._prompts[self._at]

    def newer(self) -> str | None:
        """Return the prompt after the one shown, at last the draft; None when not browsing."""
        if self._at is None:
            return None
        self._at += 1
        if self._at < len(self._prompts):
            return self._prompts[self._at]
        self._at = None
        return self._draft

    def leave(self) -> None:
        """End browsing: what is shown was changed and is the draft now."""
        self._at = None
