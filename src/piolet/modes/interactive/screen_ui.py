"""``ScreenUI``: the user interface that extensions get in interactive mode (the extension specification, section 5)."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Coroutine, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from piolet.app.extensions.ui import NotifyType, Placement, SetThemeResult
from piolet.base.abort import AbortSignal, Interrupted, abortable
from piolet.modes.interactive.activity import WORKING
from piolet.modes.interactive.custom_ui import show_component
from piolet.modes.interactive.surface import KeyListener, Shown, Slot
from piolet.tui.blocks.messages import THINKING_LABEL
from piolet.tui.blocks.rules import SPINNER, SPINNER_SECONDS
from piolet.tui.component import Text
from piolet.tui.overlay import GivenOptions, OverlayHandle
from piolet.tui.panels.list_panel import ListPanel
from piolet.tui.panels.panel import Panel
from piolet.tui.panels.question import EditorPanel, InputPanel
from piolet.tui.program_status import BlockedKind
from piolet.tui.select_list import Item
from piolet.tui.theme import Theme
from piolet.tui.ui_theme import UiTheme

if TYPE_CHECKING:
    from piolet.modes.interactive.face import Face

T = TypeVar("T")


class ScreenUI:
    """The screen of `face`, for the extension `owner`."""

    has_ui: ClassVar[bool] = True

    def __init__(self, face: Face, owner: object = "extension") -> None:
        self._face = face
        self._owner = owner

    def of(self, owner: object) -> ScreenUI:
        return ScreenUI(self._face, owner)

    @property
    def theme(self) -> UiTheme:
        return self._face.surface.theme

    # ---- dialogs

    async def select(
        self, title: str, options: Sequence[str], *, timeout: float | None = None, signal: AbortSignal | None = None
    ) -> str | None:
        items = [Item(option, option) for option in options]
        return await self._ask(
            title,
            lambda done: ListPanel(title, items, done, lambda: done(None), keymap=self._face.keymap),
            timeout,
            signal,
        )

    async def confirm(
        self, title: str, message: str, *, timeout: float | None = None, signal: AbortSignal | None = None
    ) -> bool:
        items = [Item(True, "Yes"), Item(False, "No")]
        hints = message.splitlines()

        def make(done: Callable[[bool | None], None]) -> Panel:
            return ListPanel(title, items, done, lambda: done(None), keymap=self._face.keymap, hints=hints)

        return await self._ask(title, make, timeout, signal, kind="permission") is True

    async def input(
        self,
        title: str,
        placeholder: str | None = None,
        *,
        timeout: float | None = None,
        signal: AbortSignal | None = None,
    ) -> str | None:
        return await self._ask(
            title,
            lambda done: InputPanel(
                title, done, lambda: done(None), placeholder=placeholder or "", keymap=self._face.keymap
            ),
            timeout,
            signal,
        )

    async def editor(self, title: str, prefill: str = "") -> str | None:
        return await self._ask(
            title,
            lambda done: EditorPanel(title, done, lambda: done(None), text=prefill, keymap=self._face.keymap),
            None,
            None,
        )

    async def custom(
        self,
        factory: Callable[..., Any],
        *,
        overlay: bool = False,
        overlay_options: GivenOptions = None,
        on_handle: Callable[[OverlayHandle], object] | None = None,
        blocked: bool | None = None,
    ) -> Any:
        waits = not overlay if blocked is None else blocked
        with self._face.status.blocked("question", "") if waits else nullcontext():
            return await show_component(self._face, self._owner, factory, overlay, overlay_options, on_handle)

    async def _ask(
        self,
        title: str,
        make: Callable[[Callable[[T | None], None]], Panel],
        timeout: float | None,
        signal: AbortSignal | None,
        *,
        kind: BlockedKind = "question",
    ) -> T | None:
        """Ask with a panel; None when it is dismissed, the time is over or `signal` is set. Raises `QuestionEnded`."""
        shown: list[Panel] = []
        answers: list[Callable[[None], None]] = []

        def made(done: Callable[[T | None], None]) -> Panel:
            answers.append(done)
            shown.append(make(done))
            return shown[0]

        def dismiss() -> None:
            for answer in answers:
                answer(None)

        counting = asyncio.create_task(self._count_down(title, shown, timeout)) if timeout is not None else None
        asking: Coroutine[Any, Any, T | None] = self._face.ask(made)
        try:
            with self._face.surface.until_cleared(dismiss), self._face.status.blocked(kind, title):
                async with asyncio.timeout(timeout):
                    return await abortable(asking, signal)
        except (TimeoutError, Interrupted):
            return None
        finally:
            if counting is not None:
                counting.cancel()

    async def _count_down(self, title: str, shown: Sequence[Any], timeout: float) -> None:
        """Keep the seconds that are left in the panel's title."""
        loop = asyncio.get_running_loop()
        end = loop.time() + timeout
        while (left := end - loop.time()) > 0:
            for panel in shown:
                panel.title = f"{title} ({math.ceil(left)}s)"
                self._face.app.redraw_panel()
            await asyncio.sleep(left - (math.ceil(left) - 1) if shown else 0)

    # ---- what is only shown

    def notify(self, message: str, type: NotifyType | None = None) -> None:
        presenter = self._face.presenter
        {"error": presenter.error, "warning": presenter.warn}.get(type or "info", presenter.status)(message)

    def set_status(self, key: str, text: str | None) -> None:
        if text is None:
            self._face.statuses.pop(key, None)
        else:
            self._face.statuses[key] = text
        self._face.surface.redraw()

    def set_widget(self, key: str, content: Any, *, placement: Placement | None = None) -> None:
        """Show lines, or what ``content(tui, theme)`` makes, above or below the editor."""
        surface = self._face.surface
        if content is None:
            component = None
        elif callable(content):
            component = surface.attempt(self._owner, lambda: content(surface.tui, surface.theme))
        else:
            component = Text("\n".join(str(line) for line in content))
        shown = None if component is None else Shown(self._owner, component)
        surface.set_widget(key, shown, placement or "above_editor")

    def set_header(self, factory: Callable[..., Any] | None) -> None:
        """Show what ``factory(tui, theme)`` makes in place of the head of the transcript."""
        self._set_slot("header", factory)

    def set_footer(self, factory: Callable[..., Any] | None) -> None:
        """Show what ``factory(tui, theme)`` makes in place of the footer; ``tui.footer`` has what that would say."""
        self._set_slot("footer", factory)

    def set_editor_component(self, factory: Callable[..., Any] | None) -> None:
        """Let what ``factory(tui, theme, keybindings)`` makes draw the editor and take its keys."""
        self._set_slot("editor", factory)

    def get_editor_component(self) -> Callable[..., Any] | None:
        return self._face.surface.factories.get("editor")

    def _set_slot(self, slot: Slot, factory: Callable[..., Any] | None) -> None:
        surface = self._face.surface
        component = None
        if factory is not None:
            arguments = [surface.tui, surface.theme, *([self._face.keymap] if slot == "editor" else [])]
            component = surface.attempt(self._owner, lambda: factory(*arguments))
        surface.set_slot(slot, None if component is None else Shown(self._owner, component), factory)

    def set_title(self, title: str) -> None:
        self._face.set_title(title)

    def set_working_message(self, message: str | None = None) -> None:
        activity = self._face.progress.activity
        if activity.message == activity.word:
            activity.message = message or WORKING
        activity.word = message or WORKING
        self._face.progress.refresh()

    def set_working_visible(self, visible: bool) -> None:
        self._face.progress.activity.visible = visible
        self._face.progress.refresh()

    def set_working_indicator(self, frames: Sequence[str] | None = None, interval: float | None = None) -> None:
        """Turn `frames`, each for `interval` seconds; without frames the usual ones."""
        activity = self._face.progress.activity
        activity.frames = SPINNER if frames is None else tuple(frames)
        activity.seconds = interval or SPINNER_SECONDS
        self._face.progress.refresh()

    def set_hidden_thinking_label(self, label: str | None = None) -> None:
        self._face.presenter.set_thinking_label(THINKING_LABEL if label is None else label)

    # ---- the editor and the keys

    def set_editor_text(self, text: str) -> None:
        self._face.set_editor_text(text)

    def paste_to_editor(self, text: str) -> None:
        self._face.editor.paste(text)
        self._face.app.editor_area.update()

    def get_editor_text(self) -> str:
        return self._face.editor.buffer.value

    def on_terminal_input(self, handler: KeyListener) -> Callable[[], None]:
        """Let `handler(key)` see every key first; True: the key is used up. Returns a function that ends it."""
        surface = self._face.surface
        entry = (self._owner, handler)
        surface.listeners.append(entry)

        def remove() -> None:
            surface.listeners = [other for other in surface.listeners if other is not entry]

        return remove

    def add_autocomplete_provider(self, factory: Callable[..., Any]) -> None:
        """Complete with what ``factory(sources)`` returns, made from the present `CompletionSources`."""
        self._face.surface.complete_with(self._owner, factory)

    # ---- themes and folding

    def get_all_themes(self) -> Sequence[Theme]:
        return [loaded.theme for loaded in self._face.runtime.services.resources.themes.values()]

    def get_theme(self, name: str) -> Theme | None:
        loaded = self._face.runtime.services.resources.themes.get(name)
        return loaded.theme if loaded is not None else None

    def set_theme(self, theme: Theme | str) -> SetThemeResult:
        """Use a theme, or the one of a name, until the next one is chosen."""
        problem = self._face.show_theme(theme)
        return SetThemeResult(problem is None, problem)

    def get_tools_expanded(self) -> bool:
        return self._face.app.transcript_view.transcript.frame.expanded

    def set_tools_expanded(self, expanded: bool) -> None:
        self._face.app.transcript_view.set_frame(expanded=expanded)
