"""Commands about the program itself: keys, what has changed, reading everything again, leaving."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from piolet.base.files import write_private
from piolet.base.json import encode
from piolet.modes.interactive.hotkeys import hotkeys
from piolet.modes.interactive.whats_new import changelog_text
from piolet.tui.select_list import Item
from piolet.tui.spans import line_text

if TYPE_CHECKING:
    from piolet.modes.interactive.face import Face

DEBUG_FILE = "piolet-debug.log"


async def quit_(face: Face, rest: str) -> None:
    """``/quit``"""
    face.quit()


async def copy(face: Face, rest: str) -> None:
    """``/copy``: the last answer."""
    text = face.runtime.session.last_assistant_text()
    if text is None:
        face.presenter.error("There is no answer to copy yet")
        return
    await face.copy(text)
    face.presenter.status("Copied the last answer to the clipboard")


async def reload(face: Face, rest: str) -> None:
    """``/reload``"""
    face.opened.check_idle("reload")
    await face.runtime.reload()
    face.presenter.status("Reloaded extensions, settings, keys, skills, prompts, themes and context files")


async def show_hotkeys(face: Face, rest: str) -> None:
    """``/hotkeys``: a list that can be searched."""
    extensions = (("Extensions", key, text) for key, text in face.runtime.extensions.shortcut_texts.items())
    items = [Item(None, keys, f"{text} · {group}") for group, keys, text in (*hotkeys(face.keymap), *extensions)]
    await face.dialogs.choose("Keys", items, search=True, query=rest)


async def changelog(face: Face, rest: str) -> None:
    """``/changelog``"""
    text = changelog_text()
    if not text:
        face.presenter.status("This installation has no changelog")
        return
    face.presenter.markdown(text)


async def debug(face: Face, rest: str) -> None:
    """``/debug``: what is drawn, and the messages of the context."""
    transcript = face.app.transcript_view.transcript
    width = transcript.frame.width
    drawn = [line_text(line) for block in transcript.blocks for line in block.lines(transcript.frame)]
    messages = face.runtime.session.harness.agent.messages
    path = face.runtime.services.options.agent_dir / DEBUG_FILE
    text = "\n".join([f"Width {width}", *drawn, "", "Messages"]).encode("utf-8", "replace")
    data = b"\n".join([text, *(encode(message) for message in messages), b""])
    await asyncio.to_thread(write_private, path, data)
    face.presenter.status(f"Debug log written: {path}")
