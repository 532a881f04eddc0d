"""Commands of the user (``!``): one at a time, beside any run of the model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from piolet.app.prompt import PromptRejected
from piolet.modes.interactive.shell_card import ShellCard
from piolet.tui.blocks.frame import Frame
from piolet.tui.spans import Line

if TYPE_CHECKING:
    from piolet.modes.interactive.face import Face


class UserShell:
    """Runs one command at a time. Beside a run of the model its card waits below the transcript until that settles."""

    def __init__(self, face: Face) -> None:
        self._face = face
        self._waiting: list[ShellCard] = []
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
            self._waiting.append(card)
            face.progress.when_settled(lambda: self._commit(card))
        else:
            face.presenter.add(card)
        face.refresh()

        async def on_output(text: str) -> None:
            card.append(text)
            face.presenter.changed(card)

        try:
            message = await session.bash(command, exclude=exclude, on_output=on_output)
            card.finish(message)
            face.presenter.shows(message, card)
            face.presenter.changed(card)
        except PromptRejected:
            self._commit(card)
            face.presenter.remove(card)
            raise
        finally:
            self._running = False
            face.refresh()

    def _commit(self, card: ShellCard) -> None:
        """Move a card that waits into the transcript."""
        if card in self._waiting:
            self._waiting.remove(card)
            self._face.presenter.add(card)

    def abort(self) -> None:
        """Kill the command that is running."""
        self._face.runtime.session.abort_bash()

    def pending_lines(self, frame: Frame) -> list[Line]:
        """Return the cards that wait below the transcript."""
        return [line for card in self._waiting for line in card.lines(frame)]
