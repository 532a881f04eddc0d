"""Commands of the user (``!``): one at a time, beside any run of the model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from piolet.app.prompt import PromptRejected
from piolet.modes.interactive.shell_card import ShellCard
from piolet.tui.blocks.frame import Frame
from piolet.tui.spans import Line

if TYPE_CHECKING:
    from piolet.modes.interactive.face import Face


class UserShell:
    """Runs one command at a time. Beside a run of the model its card waits below the transcript."""

    def __init__(self, face: Face) -> None:
        self._face = face
        self._pending: ShellCard | None = None
        self._running = False

    @property
    def running(self) -> bool:
        return self._running

    async def run(self, command: str, *, exclude: bool) -> None:
        """Run `command` and show how it goes; `exclude`: the model never sees it. Raises `PromptRejected`."""
        if self._running:
            raise PromptRejected("A command is already running; wait for its end or cancel it")
        face, session = self._face, self._face.runtime.session
        keys = "/".join(filter(None, (face.keymap.label("app.interrupt"), face.keymap.label("app.clear"))))
        card = ShellCard(command, excluded=exclude, cancel_keys=keys)
        self._running = True
        if session.is_streaming:
            self._pending = card
            face.refresh()
        else:
            face.presenter.add(card)

        async def on_output(text: str) -> None:
            card.append(text)
            if self._pending is None:
                face.presenter.changed(card)

        try:
            card.finish(await session.bash(command, exclude=exclude, on_output=on_output))
        except PromptRejected:
            face.presenter.remove(card)
            raise
        finally:
            self._running = False
            waited, self._pending = self._pending is not None, None
            face.refresh()
        if not waited:
            face.presenter.changed(card)
        elif session.is_streaming:
            face.progress.when_settled(lambda: face.presenter.add(card))
        else:
            face.presenter.add(card)

    def abort(self) -> None:
        """Kill the command that is running."""
        self._face.runtime.session.abort_bash()

    def pending_lines(self, frame: Frame) -> Sequence[Line]:
        """Return the card that waits below the transcript, if one does."""
        return self._pending.lines(frame) if self._pending is not None else ()
