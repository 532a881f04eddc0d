"""Questions to the user that code can await: each is a panel in place of the editor until it is answered."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol, TypeVar

from piolet.tui.panels.panel import Panel

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
        if not answer.done():
            answer.set_result(value)

    panel = make(done)
    host.push_panel(panel)
    try:
        return await answer
    finally:
        host.pop_panel(panel)
