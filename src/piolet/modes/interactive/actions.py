"""What keys do outside of the text: one table from actions to functions."""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeAlias

from piolet.app.settings import Settings
from piolet.harness.environments.processes import kill_all_process_groups
from piolet.modes.interactive import clipboard, external_editor
from piolet.modes.interactive.commands import models, resume, sessions, thinking, tree
from piolet.tui.keys import Key
from piolet.tui.panels.search_panel import SearchPanel

if TYPE_CHECKING:
    from piolet.modes.interactive.face import Face

TWICE_SECONDS = 0.5

#: Does something; False: the key is not for it now.
Action: TypeAlias = Callable[["Face"], bool]


class Keys:
    """Takes the keys before the editor does."""

    def __init__(self, face: Face) -> None:
        self._face = face
        self._escaped = self._cleared = float("-inf")

    def handle(self, key: Key) -> bool:
        """Do what `key` means; return whether it meant something."""
        if key.kind == "release":
            return False
        keymap = self._face.keymap
        if keymap.matches(key, "app.interrupt"):
            self._interrupt()
            return True
        if keymap.matches(key, "tui.input.copy") and self._face.app.transcript_view.selection is not None:
            _copy(self._face)
            self._face.app.transcript_view.clear_selection()
            return True
        if keymap.matches(key, "app.clear"):
            self._clear()
            return True
        return self._shortcut(key) or any(
            keymap.matches(key, action) and do(self._face) for action, do in ACTIONS.items()
        )

    def _shortcut(self, key: Key) -> bool:
        """Do what an extension has put on `key`."""
        press = self._face.runtime.extensions.shortcuts.get(key.name) if self._face.ready else None
        if press is None:
            return False
        press()
        return True

    def left_over(self, key: Key, close: Callable[[], object] | None) -> None:
        """Do what `key` means while something else than the editor has the keys and did not use it up. `close` ends
        what is an extension's, which may have been made without a key to leave it."""
        if key.kind == "release":
            return
        keymap, face = self._face.keymap, self._face
        if close is not None and keymap.matches(key, "app.clear"):
            before, self._cleared = self._cleared, time.monotonic()
            if self._cleared - before >= TWICE_SECONDS:
                close()
            elif not stop(face):
                face.quit()
        elif close is not None and (keymap.matches(key, "app.interrupt") or keymap.matches(key, "tui.select.cancel")):
            close()
        else:
            wanted = "tui.altScreen." if close is None else ("tui.altScreen.", "app.exit", "app.suspend")
            possible = ((action, do) for action, do in ACTIONS.items() if action.startswith(wanted))
            any(keymap.matches(key, action) and do(face) for action, do in possible)

    def _interrupt(self) -> None:
        """Close what is open, stop what is under way; on an empty editor, twice, what the setting says."""
        face, now = self._face, time.monotonic()
        before, self._escaped = self._escaped, float("-inf")
        if face.editor.close_menu():
            face.app.editor_area.update()
        elif face.app.transcript_view.selection is not None:
            face.app.transcript_view.clear_selection()
        elif stop(face):
            pass
        elif face.editor.buffer.text.startswith("!"):
            face.set_editor_text("")
        elif not face.editor.buffer.text and now - before < TWICE_SECONDS:
            _escaped_twice(face)
        else:
            self._escaped = now

    def _clear(self) -> None:
        """Clear the text; without text stop the answer; twice while idle leave."""
        face, now = self._face, time.monotonic()
        before, self._cleared = self._cleared, float("-inf")
        if face.editor.buffer.text:
            face.set_editor_text("")
        elif stop(face):
            pass
        elif now - before < TWICE_SECONDS:
            face.quit()
        else:
            self._cleared = now


def _escaped_twice(face: Face) -> None:
    if face.ready:
        match face.runtime.services.settings.double_escape_action:
            case "tree":
                face.start(tree.tree(face, ""))
            case "fork":
                face.start(sessions.fork(face, ""))
            case _:
                pass


def stop(face: Face) -> bool:
    """Stop what is under way, and put what was queued back into the editor; return whether there was something."""
    if not face.ready:
        return False
    session = face.runtime.session
    if session.is_streaming or session.harness.operation is not None:
        if face.aborting:  # it was asked to stop and takes its time
            kill_all_process_groups()
        else:
            face.start(_abort(face))
        return True
    if face.shell.running:
        face.shell.abort()
        return True
    return False


async def _abort(face: Face) -> None:
    face.aborting = True
    try:
        if count := await face.submission.take_back_queue():
            _tell_restored(face, count)
        await face.runtime.session.abort()
    finally:
        face.aborting = False


def _exit(face: Face) -> bool:
    if face.editor.buffer.text:
        return False
    face.quit()
    return True


def _suspend(face: Face) -> bool:
    face.app.action_suspend_process()
    return True


def _follow_up(face: Face) -> bool:
    face.submission.submit("follow_up")
    return True


async def _dequeue(face: Face) -> None:
    if count := await face.submission.take_back_queue():
        _tell_restored(face, count)
    else:
        face.presenter.status("No messages are queued")


def _tell_restored(face: Face, count: int) -> None:
    face.presenter.status(f"Restored {count} queued message{'s' if count > 1 else ''} to editor")


def _expand(face: Face) -> bool:
    view = face.app.transcript_view
    expanded = not view.transcript.frame.expanded
    view.set_frame(expanded=expanded)
    face.presenter.status(f"Tool output: {'expanded' if expanded else 'collapsed'}")
    return True


def _toggle_thinking(face: Face) -> bool:
    hidden = face.presenter.toggle_thinking()
    face.presenter.status(f"Thinking: {'hidden' if hidden else 'shown'}")
    if face.ready:
        face.guarded(lambda: face.runtime.services.files.set(Settings.hide_thinking_block, hidden))()
    return True


def _copy(face: Face) -> bool:
    """Copy the selection, else the last answer."""
    view = face.app.transcript_view
    if view.selection is not None:
        face.start(face.copy(view.selection.text(view.transcript)))
        face.presenter.status("Copied the selection to the clipboard")
        return True
    text = face.runtime.session.last_assistant_text() if face.ready else None
    if text is None:
        face.presenter.status("There is no answer to copy yet")
    else:
        face.start(face.copy(text))
        face.presenter.status("Copied the last answer to the clipboard")
    return True


async def _paste(face: Face) -> None:
    text = await clipboard.paste_path()
    if text is None:
        text = await clipboard.paste()
    if text is None:
        face.presenter.status("There is no clipboard here that can be read")
    else:
        face.editor.paste(text)
        face.app.editor_area.update()


async def _edit_externally(face: Face) -> None:
    command = external_editor.editor_command(face.runtime.services.settings.external_editor)
    try:
        with face.app.lending():
            text = await external_editor.edit(face.editor.buffer.value, command)
    except OSError as error:
        why = error.strerror or str(error)
        face.presenter.error(
            f"{command[0]}: {why}. The setting externalEditor, VISUAL or EDITOR can name another editor"
        )
        return
    if text is None:
        face.presenter.warn(f"{command[0]} did not end well; the text is as it was")
    else:
        face.set_editor_text(text)


def _search(face: Face) -> bool:
    view = face.app.transcript_view

    def close() -> None:
        view.search("")
        face.app.pop_panel(panel)

    panel = SearchPanel(view.search, view.search_next, close, keymap=face.keymap)
    face.app.push_panel(panel)
    return True


def _page(share: float) -> Action:
    def scroll(face: Face) -> bool:
        if face.editor.menu is not None:
            return False
        face.app.transcript_view.scroll_pages(share)
        return True

    return scroll


def _line(count: int) -> Action:
    def scroll(face: Face) -> bool:
        face.app.transcript_view.scroll_rows(count)
        return True

    return scroll


def _end(*, last: bool) -> Action:
    def scroll(face: Face) -> bool:
        view = face.app.transcript_view
        if last:
            view.to_end()
        else:
            view.to_start()
        return True

    return scroll


def _prompt(direction: int) -> Action:
    def jump(face: Face) -> bool:
        face.app.transcript_view.jump_to_prompt(direction)
        return True

    return jump


def _work(work: Callable[[Face], Coroutine[Any, Any, None]]) -> Action:
    """Return the action that does `work` beside everything else, once the runtime is there."""

    def start(face: Face) -> bool:
        if face.ready:
            face.start(work(face))
        return True

    return start


ACTIONS: dict[str, Action] = {
    "app.exit": _exit,
    "app.suspend": _suspend,
    "app.editor.external": _work(_edit_externally),
    "app.clipboard.pasteImage": _work(_paste),
    "app.message.followUp": _follow_up,
    "app.message.dequeue": _work(_dequeue),
    "app.message.copy": _copy,
    "app.tools.expand": _expand,
    "app.thinking.toggle": _toggle_thinking,
    "app.thinking.cycle": _work(thinking.cycle),
    "app.model.select": _work(models.select_model),
    "app.model.cycleForward": _work(lambda face: models.cycle(face, 1)),
    "app.model.cycleBackward": _work(lambda face: models.cycle(face, -1)),
    "app.session.new": _work(lambda face: sessions.new(face, "")),
    "app.session.tree": _work(lambda face: tree.tree(face, "")),
    "app.session.fork": _work(lambda face: sessions.fork(face, "")),
    "app.session.resume": _work(lambda face: resume.resume(face, "")),
    "tui.altScreen.search": _search,
    "tui.altScreen.pageUp": _page(-1),
    "tui.altScreen.pageDown": _page(1),
    "tui.altScreen.halfPageUp": _page(-0.5),
    "tui.altScreen.halfPageDown": _page(0.5),
    "tui.altScreen.lineUp": _line(-1),
    "tui.altScreen.lineDown": _line(1),
    "tui.altScreen.top": _end(last=False),
    "tui.altScreen.bottom": _end(last=True),
    "tui.altScreen.previousPrompt": _prompt(-1),
    "tui.altScreen.nextPrompt": _prompt(1),
}
