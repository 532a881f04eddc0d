"""What becomes of the text in the editor: a prompt, a queued message, a command."""

from __future__ import annotations

from typing import TYPE_CHECKING

from piolet.app.hook_points import Behavior
from piolet.app.prompt import PromptRejected, UserPrompt

if TYPE_CHECKING:
    from piolet.modes.interactive.face import Face


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
        face.editor.take()
        face.app.editor_area.update()
        face.start(self.send(UserPrompt(text), behavior))

    async def send(self, prompt: UserPrompt, behavior: Behavior = "steer") -> None:
        """Send a prompt, or queue it, and wait until its run has settled. One that is refused comes back."""
        face = self._face
        session = face.runtime.session
        take_back = None if session.is_streaming else face.presenter.expect(prompt.text)
        try:
            await session.prompt(prompt, behavior=behavior if session.is_streaming else None)
        except PromptRejected as error:
            if take_back is not None:
                take_back()
            face.presenter.error(str(error))
            if not face.editor.buffer.text:
                face.editor.set_text(prompt.text)
                face.app.editor_area.update()

    async def take_back_queue(self) -> int:
        """Put all queued messages into the editor, in front of its text; return how many."""
        face = self._face
        steering, follow_up = await face.runtime.session.clear_queue()
        texts = [*steering, *follow_up]
        if texts:
            draft = face.editor.buffer.value
            face.editor.set_text("\n\n".join([*texts, *([draft] if draft.strip() else [])]))
            face.app.editor_area.update()
        return len(texts)
