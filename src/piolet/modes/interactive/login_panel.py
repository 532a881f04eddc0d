"""A login under way, in place of the editor: the address, a code, questions, what goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from piolet.tui.component_input import Input
from piolet.tui.keymap import Keymap
from piolet.tui.keys import Key
from piolet.tui.panels.panel import HINT, TITLE, fit_height, head_lines
from piolet.tui.spans import BLANK, Line, Span, Style, row, wrap
from piolet.tui.text import one_line

SAID = 5  # lines of progress that are kept
_CODE = Style("accent", bold=True)


class LoginPanel:
    """`close` is called by Escape, `copy` gets the address, `changed` is told when there is something new."""

    def __init__(
        self,
        title: str,
        close: Callable[[], object],
        *,
        copy: Callable[[str], object],
        changed: Callable[[], object],
        keymap: Keymap,
    ) -> None:
        self._title = title
        self._close, self._copy, self._changed = close, copy, changed
        self._keymap = keymap
        self._url = self._code = ""
        self._opened = False
        self._said: list[str] = []
        self._input: Input | None = None
        self._asked = ""

    def show_url(self, url: str, *, opened: bool) -> None:
        self._url, self._opened = url, opened
        self._changed()

    def show_code(self, code: str) -> None:
        self._code = code
        self._changed()

    def say(self, text: str) -> None:
        """Tell how it goes."""
        self._said = [*self._said, one_line(text)][-SAID:]
        self._changed()

    async def question(self, text: str) -> str:
        """Return what the user types."""
        answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._asked = one_line(text)
        self._input = Input(
            prompt="  > ",
            keymap=self._keymap,
            on_submit=lambda typed: None if answer.done() else answer.set_result(typed.strip()),
            on_cancel=self._close,
        )
        self._changed()
        try:
            return await answer
        finally:
            self._input = None
            self._changed()

    def handle(self, key: Key) -> bool:
        if self._url and self._keymap.matches(key, "app.message.copy"):
            self._copy(self._url)
            return True
        if self._input is not None:
            return self._input.handle_input(key)
        if self._keymap.matches(key, "tui.select.cancel"):
            self._close()
            return True
        return False

    def paste(self, text: str) -> None:
        if self._input is not None:
            self._input.paste(text)

    def lines(self, width: int, height: int) -> Sequence[Line]:
        cancel, copy = self._keymap.label("tui.select.cancel"), self._keymap.label("app.message.copy")
        head = head_lines(self._title, [f"{cancel} cancels · {copy} copies the address"], width)
        body: list[Line] = []
        inner = max(1, width - 2)
        if self._url:
            said = "A page opens in the browser; if not, open this:" if self._opened else "Open this page:"
            body += [row(f"  {said}", HINT)]
            body += [(Span("  "), *line) for line in wrap(row(self._url, Style("mdLink", link=self._url)), inner)]
        if self._code:
            body += [BLANK, (Span("  Type this code there: ", HINT), Span(one_line(self._code), _CODE))]
        body += [row(f"  {text}", HINT) for text in self._said]
        if self._input is not None:
            body += [BLANK, row(f"  {self._asked}", TITLE), self._input.line(width)]
        return fit_height(head, body, height)
