"""What extensions ask and show, as records to the client and his answers (the RPC specification, section 4)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from piolet.app.extensions.ui import NotifyType, NullUI, Placement
from piolet.base.abort import AbortSignal, Interrupted, abortable
from piolet.base.ids import uuid7
from piolet.modes.output import Output

_PLACEMENTS: Mapping[Placement, str] = {"above_editor": "aboveEditor", "below_editor": "belowEditor"}


class RpcUI(NullUI):
    """The client is the screen. What he cannot do is done as nobody would do it."""

    has_ui: ClassVar[bool] = True

    def __init__(self, output: Output) -> None:
        self._output = output
        self._open: dict[str, asyncio.Future[Mapping[str, Any]]] = {}
        self._closed = False

    def answer(self, fields: Mapping[str, Any]) -> None:
        """Take in an ``extension_ui_response``. One that nobody waits for is ignored."""
        waiting = self._open.get(str(fields.get("id")))
        if waiting is not None and not waiting.done():
            waiting.set_result(fields)

    def close(self) -> None:
        """Nobody answers any more: every question is cancelled."""
        self._closed = True
        for waiting in self._open.values():
            if not waiting.done():
                waiting.set_result({})

    # ---- dialogs

    async def select(
        self, title: str, options: Sequence[str], *, timeout: float | None = None, signal: AbortSignal | None = None
    ) -> str | None:
        return _text(await self._ask("select", timeout, signal, title=title, options=list(options)))

    async def confirm(
        self, title: str, message: str, *, timeout: float | None = None, signal: AbortSignal | None = None
    ) -> bool:
        answer = await self._ask("confirm", timeout, signal, title=title, message=message)
        return answer.get("confirmed") is True

    async def input(
        self,
        title: str,
        placeholder: str | None = None,
        *,
        timeout: float | None = None,
        signal: AbortSignal | None = None,
    ) -> str | None:
        return _text(await self._ask("input", timeout, signal, title=title, placeholder=placeholder))

    async def editor(self, title: str, prefill: str = "") -> str | None:
        return _text(await self._ask("editor", None, None, title=title, prefill=prefill or None))

    # ---- what is only shown

    def notify(self, message: str, type: NotifyType | None = None) -> None:
        self._tell("notify", message=message, notifyType=type)

    def set_status(self, key: str, text: str | None) -> None:
        self._tell("setStatus", statusKey=key, statusText=text)

    def set_widget(self, key: str, content: Any, *, placement: Placement | None = None) -> None:
        """Send a widget of lines; one that draws itself cannot be sent."""
        if content is None:
            self._tell("setWidget", widgetKey=key)
        elif isinstance(content, list | tuple):
            lines = [str(line) for line in content]
            self._tell(
                "setWidget",
                widgetKey=key,
                widgetLines=lines,
                widgetPlacement=_PLACEMENTS[placement] if placement else None,
            )

    def set_title(self, title: str) -> None:
        self._tell("setTitle", title=title)

    def set_editor_text(self, text: str) -> None:
        self._tell("set_editor_text", text=text)

    def paste_to_editor(self, text: str) -> None:
        self.set_editor_text(text)

    # ---- records

    def _tell(self, method: str, **fields: Any) -> str:
        """Send a request, without the fields that are None; return its id."""
        id = uuid7()
        known = {name: value for name, value in fields.items() if value is not None}
        self._output.put({"type": "extension_ui_request", "id": id, "method": method, **known})
        return id

    async def _ask(
        self, method: str, timeout: float | None, signal: AbortSignal | None, **fields: Any
    ) -> Mapping[str, Any]:
        """Send a request and return the answer; an empty one when the time is over or `signal` is set."""
        if self._closed or (signal is not None and signal.aborted):
            return {}
        id = self._tell(method, **fields, timeout=None if timeout is None else round(timeout * 1000))
        waiting = self._open[id] = asyncio.get_running_loop().create_future()
        try:
            async with asyncio.timeout(timeout):
                return await abortable(waiting, signal)
        except (TimeoutError, Interrupted):
            return {}
        finally:
            del self._open[id]


def _text(answer: Mapping[str, Any]) -> str | None:
    value = answer.get("value")
    return value if isinstance(value, str) and answer.get("cancelled") is not True else None
