"""What becomes of the text in the editor: a prompt, a queued message, a command."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from piolet.app.hook_points import Behavior
from piolet.app.prompt import PromptRejected, UserPrompt
from piolet.modes.interactive.commands import table
from piolet.modes.interactive.commands.models import NO_MODEL
from piolet.modes.interactive.commands.unknown import ask_about_unknown

if TYPE_CHECKING:
    from piolet.modes.interactive.face import Face

_COMMAND = re.compile(r"/([\w:.-]+)(?:\s+(.*))?\Z", re.DOTALL)


class Submission:
    """Takes the editor's text when the user sends it."""

    def __init__(self, face: Face) -> None:
        self._face = face

    def submit(self, behavior: Behavior = "steer") -> None:
        """Send what is in the editor; `behavior`: how to queue it if the model is at work."""
        face = self._face
        text = face.editor.buffer.value.strip()
        if not text:
            return
        if not face.ready:
            face.presenter.status("Startup is still in progress")
            return
        match = _COMMAND.match(text)
        if match is not None and (built_in := table.find(match[1])) is not None:
            face.set_editor_text("")
            face.start(built_in.run(face, (match[2] or "").strip()))
            return
        if text.startswith("!") and text.strip("! \n"):
            self._take()
            excluded = text.startswith("!!")
            face.start(face.shell.run(text.removeprefix("!").removeprefix("!").strip(), exclude=excluded))
            return
        self._take()
        if match is not None and match[1] not in self._known():
            face.start(self._unknown(text, match[1], behavior))
        else:
            face.start(self.send(UserPrompt(text), behavior))

    async def send(self, prompt: UserPrompt, behavior: Behavior = "steer") -> None:
        """Send a prompt, or queue it, and wait until its run has settled. One that is refused comes back."""
        face = self._face
        session = face.runtime.session
        waits = session.is_streaming or session.harness.is_compacting
        face.app.transcript_view.to_end()
        take_back = None if waits or prompt.text.startswith("/") else face.presenter.expect(prompt.text)
        if session.harness.is_compacting:
            face.presenter.status("Queued; it is sent after the compaction")
        try:
            await session.prompt(prompt, behavior=behavior)
        except PromptRejected as error:
            face.presenter.error(NO_MODEL if session.model is None else str(error))
            if not face.editor.buffer.text:
                face.set_editor_text(prompt.text)
        finally:
            if take_back is not None:
                take_back()

    async def take_back_queue(self) -> int:
        """Put all queued messages into the editor, in front of its text; return how many."""
        face = self._face
        steering, follow_up = await face.runtime.session.clear_queue()
        texts = [*steering, *follow_up]
        if texts:
            draft = face.editor.buffer.value
            face.set_editor_text("\n\n".join([*texts, *([draft] if draft.strip() else [])]))
        return len(texts)

    def _take(self) -> None:
        self._face.editor.take()
        self._face.app.editor_area.update()

    def _known(self) -> set[str]:
        return {command.name for command in self._face.runtime.session.commands.list()}

    async def _unknown(self, text: str, name: str, behavior: Behavior) -> None:
        """Ask what is meant by a command that is not there."""
        chosen = await ask_about_unknown(self._face, name, self._known())
        if chosen is None:
            self._face.set_editor_text(text)
        elif chosen == name:
            await self.send(UserPrompt(text), behavior)
        else:
            rest = text.removeprefix(f"/{name}")
            built_in = table.find(chosen)
            if built_in is not None:
                await built_in.run(self._face, rest.strip())
            else:
                await self.send(UserPrompt(f"/{chosen}{rest}"), behavior)
