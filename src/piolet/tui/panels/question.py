"""Panels that ask for text: one line, or several."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from piolet.tui.component import Component, component_lines, handle_input
from piolet.tui.component_input import Input
from piolet.tui.editor import Editor
from piolet.tui.keymap import Keymap
from piolet.tui.keys import Key
from piolet.tui.panels.panel import fit_height, head_lines
from piolet.tui.spans import Line


class InputPanel:
    """Asks for one line: Enter calls `on_submit` with it, Escape `on_cancel`. `masked`: dots are drawn."""

    def __init__(
        self,
        title: str,
        on_submit: Callable[[str], object],
        on_cancel: Callable[[], object],
        *,
        text: str = "",
        placeholder: str = "",
        masked: bool = False,
        hints: Sequence[str] = (),
        keymap: Keymap | None = None,
    ) -> None:
        self.title, self.hints = title, hints
        self.input = Input(
            text,
            on_submit=on_submit,
            on_cancel=on_cancel,
            prompt="  > ",
            placeholder=placeholder,
            masked=masked,
            keymap=keymap,
        )

    def handle(self, key: Key) -> bool:
        return self.input.handle_input(key)

    def paste(self, text: str) -> None:
        self.input.paste(text)

    def lines(self, width: int, height: int) -> Sequence[Line]:
        return fit_height(head_lines(self.title, self.hints, width), [self.input.line(width)], height)


class EditorPanel:
    """Asks for several lines: Enter calls `on_submit` with them, Escape `on_cancel`."""

    def __init__(
        self,
        title: str,
        on_submit: Callable[[str], object],
        on_cancel: Callable[[], object],
        *,
        text: str = "",
        hints: Sequence[str] = (),
        keymap: Keymap | None = None,
    ) -> None:
        self.title, self.hints = title, hints
        self.on_submit, self.on_cancel = on_submit, on_cancel
        self.editor = Editor(keymap, padding=2)
        self.editor.set_text(text)

    def handle(self, key: Key) -> bool:
        if self.editor.keymap.matches(key, "tui.select.cancel"):
            self.on_cancel()
            return True
        outcome = self.editor.handle(key)
        if outcome == "submit":
            self.on_submit(self.editor.buffer.value)
        return outcome != "ignored"

    def paste(self, text: str) -> None:
        self.editor.paste(text)

    def lines(self, width: int, height: int) -> Sequence[Line]:
        head = head_lines(self.title, self.hints, width)
        return fit_height(head, self.editor.view(width, max(1, height - len(head))).lines, height)


class ComponentPanel:
    """A component of an extension in place of the editor. `failed` is told what it raises; then it draws nothing.
    `close` ends it for the user, whom it must not lock in."""

    def __init__(
        self, component: Component, failed: Callable[[Exception], object], close: Callable[[], object] = lambda: None
    ) -> None:
        self.component = component
        self.close = close
        self._failed = failed
        self._broken = False

    def handle(self, key: Key) -> bool:
        try:
            return not self._broken and bool(handle_input(self.component, key))
        except Exception as error:
            self._fail(error)
            return True

    def paste(self, text: str) -> None:
        paste = getattr(self.component, "paste", None)
        if paste is not None and not self._broken:
            try:
                paste(text)
            except Exception as error:
                self._fail(error)

    def lines(self, width: int, height: int) -> Sequence[Line]:
        if self._broken:
            return []
        try:
            return component_lines(self.component, width)[: max(1, height)]
        except Exception as error:
            self._fail(error)
            return []

    def _fail(self, error: Exception) -> None:
        self._broken = True
        self._failed(error)
