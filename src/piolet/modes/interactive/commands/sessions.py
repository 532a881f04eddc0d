"""Commands about the session that is open: name it, look at it, leave it for a new one or a copy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from piolet.harness.errors import Cancelled, CompactionFailed, NothingToDo
from piolet.harness.prompt.skills import as_typed
from piolet.tui.blocks.footer import count
from piolet.tui.blocks.frame import DIM, inset, plain
from piolet.tui.blocks.live import DrawnBlock
from piolet.tui.select_list import Item
from piolet.tui.text import one_line

if TYPE_CHECKING:
    from piolet.modes.interactive.face import Face


async def new(face: Face, rest: str) -> None:
    """``/new``"""
    if await face.opened.replacing(face.runtime.new_session):
        face.presenter.status("New session started")


async def fork(face: Face, rest: str) -> None:
    """``/fork``: choose a prompt; its text comes back into the editor."""
    points = face.runtime.session.fork_points()
    if not points:
        face.presenter.status("No messages to fork from")
        return
    items = [
        Item(entry_id, one_line(as_typed(text)), below=f"Message {number} of {len(points)}")
        for number, (entry_id, text) in enumerate(points, 1)
    ]
    chosen = await face.dialogs.choose("Fork from message", items, search=True, selected=len(items) - 1)
    if chosen is None:
        return
    text = await face.opened.replacing(lambda: face.runtime.fork(chosen))
    if text is not None:
        face.set_editor_text(as_typed(text))
        face.presenter.status("Forked to new session")


async def clone(face: Face, rest: str) -> None:
    """``/clone``"""
    if await face.opened.replacing(face.runtime.clone):
        face.presenter.status("Cloned to new session")


async def name(face: Face, rest: str) -> None:
    """``/name [NAME]``"""
    if rest:
        await face.runtime.session.set_name(rest)
    known = face.runtime.session.session.name
    face.presenter.status(f"Session name: {known}" if known else "The session has no name; /name NAME gives it one")


async def compact(face: Face, rest: str) -> None:
    """``/compact [INSTRUCTIONS]``: an answer that is under way is stopped, if there is something to compact."""
    if face.runtime.session.is_streaming:
        face.runtime.session.harness.compactor.check()
    try:
        await face.runtime.session.compact(rest or None)
    except (Cancelled, CompactionFailed, NothingToDo):
        return  # the event has told


async def session(face: Face, rest: str) -> None:
    """``/session``: file, counts, tokens, cost."""
    stats = face.runtime.session.stats()
    totals = stats.totals
    rows = [
        ("Name", face.runtime.session.session.name or ""),
        ("File", stats.path or "in memory"),
        ("Id", stats.id),
        ("Messages", str(totals.messages)),
        ("  Prompts", str(totals.user_messages)),
        ("  Answers", str(totals.assistant_messages)),
        ("  Tool calls", str(totals.tool_calls)),
        ("  Tool results", str(totals.tool_results)),
        ("Tokens", f"{totals.tokens:,}"),
        ("  Input", f"{totals.input:,}"),
        ("  Output", f"{totals.output:,}"),
        ("  Cache read", f"{totals.cache_read:,}"),
        ("  Cache write", f"{totals.cache_write:,}"),
        ("Cost", f"${totals.cost:.4f}"),
    ]
    if stats.context is not None:
        used = "unknown" if stats.context.tokens is None else f"{stats.context.tokens:,}"
        rows.append(("Context", f"{used} of {count(stats.context.window)} tokens"))
    text = "Session\n\n" + "\n".join(f"{title:<14} {value}" for title, value in rows if value)
    face.presenter.add(DrawnBlock(lambda frame: inset(plain(text, frame.text_width, DIM), frame), text))
