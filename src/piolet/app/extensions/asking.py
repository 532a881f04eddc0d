"""``AskingUI``: the mode's user interface, which also tells when extensions ask the user something."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, Literal, TypeAlias

from piolet.app.extensions.ui import UI
from piolet.app.hook_points import UI_PROMPT_END, UI_PROMPT_START, UiPrompt
from piolet.base.abort import AbortSignal
from piolet.harness.hooks import Hook

Kind: TypeAlias = Literal["select", "confirm", "input", "editor", "custom"]


class AskingUI:
    """Does what `ui()` does. `tell` is called when the first of overlapping dialogs opens and when the last is over."""

    def __init__(
        self,
        ui: Callable[[], UI],
        tell: Callable[[Hook[UiPrompt, None], UiPrompt], None],
        open: set[object] | None = None,
    ) -> None:
        self._ui = ui
        self._tell = tell
        self._open = set() if open is None else open

    def of(self, owner: object, check: Callable[[], None]) -> AskingUI:
        """Return the same for one extension; its dialogs count with those of the others.

        `check` raises when the extension must not use it any more.
        """

        def ui() -> UI:
            check()
            return self._ui().of(owner)

        return AskingUI(ui, self._tell, self._open)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ui(), name)

    async def select(
        self, title: str, options: Sequence[str], *, timeout: float | None = None, signal: AbortSignal | None = None
    ) -> str | None:
        async with self._asking("select", title):
            return await self._ui().select(title, options, timeout=timeout, signal=signal)

    async def confirm(
        self, title: str, message: str, *, timeout: float | None = None, signal: AbortSignal | None = None
    ) -> bool:
        async with self._asking("confirm", title):
            return await self._ui().confirm(title, message, timeout=timeout, signal=signal)

    async def input(
        self,
        title: str,
        placeholder: str | None = None,
        *,
        timeout: float | None = None,
        signal: AbortSignal | None = None,
    ) -> str | None:
        async with self._asking("input", title):
            return await self._ui().input(title, placeholder, timeout=timeout, signal=signal)

    async def editor(self, title: str, prefill: str = "") -> str | None:
        async with self._asking("editor", title):
            return await self._ui().editor(title, prefill)

    async def custom(self, factory: Callable[..., Any], **options: Any) -> Any:
        blocked = options.get("blocked")
        if not (not options.get("overlay") if blocked is None else blocked):
            return await self._ui().custom(factory, **options)
        async with self._asking("custom", ""):
            return await self._ui().custom(factory, **options)

    @asynccontextmanager
    async def _asking(self, kind: Kind, title: str) -> AsyncIterator[None]:
        if not self._ui().has_ui:
            yield
            return
        prompt = UiPrompt("extension", kind, title)
        mark = object()
        self._open.add(mark)
        if len(self._open) == 1:
            self._tell(UI_PROMPT_START, prompt)
        try:
            yield
        finally:
            self._open.remove(mark)
            if not self._open:
                self._tell(UI_PROMPT_END, prompt)
