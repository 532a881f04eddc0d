"""What keys do outside of the text: one table from actions to functions."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from piolet.tui.keys import Key

if TYPE_CHECKING:
    from piolet.modes.interactive.face import Face

TWICE_SECONDS = 0.5


def on_key(face: Face, key: Key) -> bool:
    """Do what `key` means before the editor sees it; return whether it meant something."""
    if key.kind == "release":
        return False
    return any(face.keymap.matches(key, action) and do(face) for action, do in ACTIONS.items())


def interrupt(face: Face) -> bool:
    """Close what is open, stop what is under way; see the terminal specification, section 3."""
    if face.editor.close_menu():
        face.app.editor_area.update()
    elif face.ready and stop(face):
        pass
    elif face.editor.buffer.text.startswith("!"):
        face.editor.set_text("")
        face.app.editor_area.update()
    return True


def clear(face: Face) -> bool:
    """Clear the text; without text stop the answer; twice while idle leave."""
    if face.editor.buffer.text:
        face.editor.set_text("")
        face.app.editor_area.update()
    elif not (face.ready and stop(face)):
        if time.monotonic() - face.last_clear < TWICE_SECONDS:
            face.quit()
        face.last_clear = time.monotonic()
    return True


def exit_(face: Face) -> bool:
    if face.editor.buffer.text:
        return False
    face.quit()
    return True


def stop(face: Face) -> bool:
    """Stop what is under way and put what was queued back into the editor; return whether there was something."""
    session = face.runtime.session
    if not session.is_streaming and session.harness.operation is None:
        return False

    async def work() -> None:
        await face.submission.take_back_queue()
        await session.abort()

    face.start(work())
    return True


def follow_up(face: Face) -> bool:
    face.submission.submit("follow_up")
    return True


def dequeue(face: Face) -> bool:
    async def work() -> None:
        count = await face.submission.take_back_queue()
        word = "message" if count == 1 else "messages"
        face.presenter.status(f"Restored {count} queued {word} to editor" if count else "No messages are queued")

    face.start(work())
    return True


def expand(face: Face) -> bool:
    view = face.app.transcript_view
    expanded = not view.transcript.frame.expanded
    view.set_frame(expanded=expanded)
    face.presenter.status(f"Tool output: {'expanded' if expanded else 'collapsed'}")
    return True


def page(share: float) -> Callable[[Face], bool]:
    def scroll(face: Face) -> bool:
        if face.editor.menu is not None:
            return False
        face.app.transcript_view.scroll_pages(share)
        return True

    return scroll


def to_start(face: Face) -> bool:
    face.app.transcript_view.to_start()
    return True


def to_end(face: Face) -> bool:
    face.app.transcript_view.to_end()
    return True


def prompt(direction: int) -> Callable[[Face], bool]:
    def jump(face: Face) -> bool:
        face.app.transcript_view.jump_to_prompt(direction)
        return True

    return jump


#: Returns False if the key is not for it now.
ACTIONS: dict[str, Callable[[Face], bool]] = {
    "app.interrupt": interrupt,
    "app.clear": clear,
    "app.exit": exit_,
    "app.message.followUp": follow_up,
    "app.message.dequeue": dequeue,
    "app.tools.expand": expand,
    "tui.altScreen.pageUp": page(-1),
    "tui.altScreen.pageDown": page(1),
    "tui.altScreen.halfPageUp": page(-0.5),
    "tui.altScreen.halfPageDown": page(0.5),
    "tui.altScreen.top": to_start,
    "tui.altScreen.bottom": to_end,
    "tui.altScreen.previousPrompt": prompt(-1),
    "tui.altScreen.nextPrompt": prompt(1),
}
