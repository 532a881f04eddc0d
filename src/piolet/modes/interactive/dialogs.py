"""Questions to the user that code can await: each is a panel in place of the editor until it is answered."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from piolet.tui.keymap import Keymap
from piolet.tui.panels.list_panel import ListPanel
from piolet.tui.panels.panel import Panel
from piolet.tui.panels.question import EditorPanel, InputPanel
from piolet.tui.select_list import Item

T = TypeVar("T")


class PanelHost(Protocol):
    """Where panels are shown."""

    def push_panel(self, panel: Panel) -> None:
        """Show `panel` in place of the editor and of the panel that was there."""

    def pop_panel(self, panel: Panel) -> None:
        """Take `panel` away; what was beneath it is shown again."""


async def ask(host: PanelHost, make: Callable[[Callable[[T | None], None]], Panel]) -> T | None:
    """Show the panel that `make` returns and wait for its answer; None: it was dismissed.

    `make` gets the function that the panel calls with the answer. A caller that is cancelled takes the panel away.
    """
    answer: asyncio.Future[T | None] = asyncio.get_running_loop().create_future()

    def done(value: T | None) -> None:
        host.pop_panel(panel)  # at once: the next key is for what was beneath
        if not answer.done():
            answer.set_result(value)

    panel = make(done)
    host.push_panel(panel)
    try:
        return await answer
    finally:
        host.pop_panel(panel)


class Dialogs:
    """The usual questions, with the keys of `keymap()`."""

    def __init__(self, host: PanelHost, keymap: Callable[[], Keymap]) -> None:
        self._host = host
        self._keymap = keymap

    async def choose(
        self,
        title: str,
        items: Sequence[Item[T]],
        *,
        hints: Sequence[str] = (),
        search: bool = False,
        query: str = "",
        selected: int | None = None,
    ) -> T | None:
        """Let the user choose one of `items`, beginning at number `selected` (default: the current one); None:
        dismissed."""

        def make(done: Callable[[T | None], None]) -> ListPanel[T]:
            panel = ListPanel(
                title,
                items,
                done,
                lambda: done(None),
                keymap=self._keymap(),
                hints=hints,
                search=search,
                query=query,
            )
            if selected is not None:
                panel.list.show(items, selected)
            return panel

        return await ask(self._host, make)

    async def confirm(self, title: str, *hints: str, yes: str = "Yes", no: str = "No") -> bool:
        """Ask a question; dismissed is no."""
        return bool(await self.choose(title, [Item(True, yes), Item(False, no)], hints=hints))

    async def line(
        self, title: str, *, text: str = "", placeholder: str = "", masked: bool = False, hints: Sequence[str] = ()
    ) -> str | None:
        """Ask for a line of text; None: dismissed."""
        return await ask(
            self._host,
            lambda done: InputPanel(
                title,
                done,
                lambda: done(None),
                text=text,
                placeholder=placeholder,
                masked=masked,
                hints=hints,
                keymap=self._keymap(),
            ),
        )

    async def lines(self, title: str, *, text: str = "", hints: Sequence[str] = ()) -> str | None:
        """Ask for several lines of text; None: dismissed."""
        return await ask(
            self._host,
            lambda done: EditorPanel(title, done, lambda: done(None), text=text, hints=hints, keymap=self._keymap()),
        )
