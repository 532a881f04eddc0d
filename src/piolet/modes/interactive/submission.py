"""What becomes of the text in the editor: a prompt, a queued message, a command."""

from __future__ import annotations

import re
from itertools import takewhile
from typing import TYPE_CHECKING

from piolet.app.hook_points import Behavior
from piolet.app.prompt import PromptRejected, UserPrompt
from piolet.harness.errors import HarnessError
from piolet.harness.session.errors import SessionError
from piolet.modes.interactive.commands import table
from piolet.modes.interactive.commands.models import no_model
from piolet.modes.interactive.commands.unknown import ask_about_unknown

if TYPE_CHECKING:
    from piolet.harness.session.session import Session
    from piolet.modes.interactive.face import Face

_COMMAND = re.compile(r"/([\w:.?-]+)(?:\s+(.*))?\Z", re.DOTALL)
_NOT_SENT = "Not sent: the text is back in the editor; Enter sends it again."


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
            face.start(self._run_shell(text))
            return
        self._take()
        if match is not None and match[1] not in self._known():
            face.start(self._unknown(text, match[1], behavior))
        else:
            face.start(self.send(UserPrompt(text), behavior))

    async def send(self, prompt: UserPrompt, behavior: Behavior = "steer") -> None:
        """Send a prompt, or queue it, and wait until its run has settled. One that did not get into the session comes
        back into the editor, and so does what was queued behind it."""
        face = self._face
        session = face.runtime.session
        leaf = session.session.leaf_id
        waits = session.is_streaming or session.harness.is_compacting
        face.app.transcript_view.to_end()
        take_back = None if waits or prompt.text.startswith("/") else face.presenter.expect(prompt.text)
        if session.harness.is_compacting:
            face.presenter.status("Queued; it is sent after the compaction")
        try:
            await session.prompt(prompt, behavior=behavior)
        except (PromptRejected, HarnessError, SessionError) as error:
            if take_back is not None:
                take_back()
            sent = not waits and _has_prompt_behind(leaf, session.session)
            if sent and isinstance(error, SessionError) and not session.session.saved:
                session.go_back_to(leaf)
                face.opened.show_session()
                sent = False
            came_back = await self.take_back_queue() if isinstance(error, SessionError) else 0
            if not sent:
                self._give_back(prompt.text)
            reason = no_model(face) if session.model is None else str(error)
            face.presenter.error(reason if sent and not came_back else f"{reason.rstrip('.')}. {_NOT_SENT}")
        finally:
            if take_back is not None:
                take_back()

    async def take_back_queue(self) -> int:
        """Put all queued messages into the editor, in front of its text; return how many."""
        steering, follow_up = await self._face.runtime.session.clear_queue()
        self._give_back(*steering, *follow_up)
        return len(steering) + len(follow_up)

    def _give_back(self, *texts: str) -> None:
        """Put texts into the editor, in front of what was typed meanwhile."""
        draft = self._face.editor.buffer.value
        if texts:
            self._face.set_editor_text("\n\n".join([*texts, *([draft] if draft.strip() else [])]))

    async def _run_shell(self, text: str) -> None:
        """Run a command behind ``!`` or ``!!``; one that cannot be run comes back into the editor."""
        command = text.removeprefix("!").removeprefix("!").strip()
        try:
            await self._face.shell.run(command, exclude=text.startswith("!!"))
        except PromptRejected:
            self._give_back(text)
            raise

    def _take(self) -> None:
        self._face.editor.take()
        self._face.app.editor_area.update()

    def _known(self) -> set[str]:
        return {command.name for command in self._face.runtime.session.commands.list()}

    async def _unknown(self, text: str, name: str, behavior: Behavior) -> None:
        """Ask what is meant by a command that is not there."""
        chosen = await ask_about_unknown(self._face, name, self._known())
        if chosen is None:
            self._give_back(text)
        elif chosen == name:
            await self.send(UserPrompt(text), behavior)
        else:
            rest = text.removeprefix(f"/{name}")
            built_in = table.find(chosen)
            if built_in is not None:
                await built_in.run(self._face, rest.strip())
            else:
                await self.send(UserPrompt(f"/{chosen}{rest}"), behavior)


def _has_prompt_behind(leaf: str | None, session: Session) -> bool:
    """Whether `session` has got a prompt since `leaf` was its leaf."""
    new = takewhile(lambda head: head.id != leaf, reversed(session.path_heads()))
    return any(head.role == "user" for head in new)
