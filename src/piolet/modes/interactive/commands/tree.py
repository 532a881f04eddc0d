"""``/tree``: walk the session's tree and go on from another place."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct

from piolet.app.renderers.tree_rows import tree_nodes
from piolet.base.ids import now_ms
from piolet.harness.messages import CustomMessage
from piolet.harness.prompt.skills import as_typed
from piolet.harness.session.entries import CustomMessageEntry, Entry, MessageEntry
from piolet.llm.messages import AssistantMessage, ToolResultMessage, UserMessage, text_of
from piolet.tui.panels.tree_panel import TreePanel
from piolet.tui.select_list import Item
from piolet.tui.tree_layout import TreeNode
from piolet.tui.tree_view import TreeView

if TYPE_CHECKING:
    from piolet.modes.interactive.face import Face

BOOKKEEPING = ("label", "session_info", "model_change", "thinking_level_change", "custom", "usage")


class Summary(Struct, frozen=True):
    """Whether the branch that is left is summarized, and what the summary should dwell on."""

    wanted: bool
    instructions: str | None = None


class Journey(Struct, frozen=True):
    """Where to go on. `summary` None: it is where we are."""

    target: str
    summary: Summary | None


async def tree(face: Face, rest: str) -> None:
    """``/tree``"""
    face.opened.check_idle("open the tree")
    session = face.runtime.session.session
    view = TreeView(tree_nodes(session), session.leaf_id, face.runtime.services.settings.tree_filter_mode)
    if not view.rows and view.filter == "default":
        face.presenter.status("The session is still empty")
        return
    journey = await face.ask(partial(_panel, face, view))
    if journey is None:
        return
    if journey.summary is None:
        face.presenter.status("Already at this point")
    else:
        await _go(face, journey.target, journey.summary)


def _panel(face: Face, view: TreeView, done: Callable[[Journey | None], None]) -> TreePanel:
    def copy(node: TreeNode) -> None:
        entry = face.runtime.session.session.get_entry(node.id)
        face.start(face.copy(entry_text(entry) or node.text))

    async def choose(target: str) -> None:
        if _is_here(face, target):
            done(Journey(target, None))
        elif (summary := await _ask_for_summary(face, target)) is not None:
            done(Journey(target, summary))

    return TreePanel(
        view,
        lambda node: face.start(choose(node.id)),
        lambda: done(None),
        on_label=lambda node: face.start(_label(face, view, node.id)),
        on_copy=copy,
        keymap=face.keymap,
    )


def _is_here(face: Face, target: str) -> bool:
    """Whether only bookkeeping stands between `target` and the leaf."""
    for head in reversed(face.runtime.session.session.path_heads()):
        if head.id == target:
            return True
        if head.type not in BOOKKEEPING:
            return False
    return False


async def _label(face: Face, view: TreeView, entry_id: str) -> None:
    session = face.runtime.session.session
    known = session.labels.get(entry_id)
    text = await face.dialogs.line("Label (empty removes it)", text=known.text if known else "")
    if text is not None:
        session.append_label(entry_id, text.strip())
        view.relabel(entry_id, text.strip(), now_ms())
        face.app.redraw_panel()


async def _ask_for_summary(face: Face, target: str) -> Summary | None:
    """Return what becomes of the branch that is left; None: back to the tree."""
    if _leaves_nothing(face, target) or face.runtime.services.settings.branch_summary.skip_prompt:
        return Summary(False)
    items = [
        Item("none", "No summary"),
        Item("plain", "Summarize"),
        Item("custom", "Summarize with custom prompt"),
    ]
    while True:
        chosen = await face.dialogs.choose("Summarize branch?", items)
        if chosen is None:
            return None
        if chosen != "custom":
            return Summary(chosen == "plain")
        text = await face.dialogs.lines("What should the summary dwell on?", hints=["Enter sends, Escape goes back"])
        if text is not None:
            return Summary(True, text.strip() or None)


def _leaves_nothing(face: Face, target: str) -> bool:
    """Whether `target` stands below the leaf, so that no entry is left behind."""
    session = face.runtime.session.session
    return session.leaf_id is None or session.leaf_id in {head.id for head in session.path_heads(target)}


async def _go(face: Face, target: str, summary: Summary) -> None:
    if summary.wanted:
        face.progress.activity.say("Summarizing branch... (escape to cancel)")
        face.refresh()
    try:
        result = await face.runtime.session.harness.navigate_tree(
            target, summarize=summary.wanted, custom_instructions=summary.instructions
        )
    finally:
        face.progress.activity.end()
        face.refresh()
    if result.cancelled:
        face.presenter.status("Branch summary cancelled" if summary.wanted else "Navigation cancelled")
        return
    if result.editor_text is not None and not face.editor.buffer.text.strip():
        face.set_editor_text(as_typed(result.editor_text))
    face.presenter.status("Navigated to selected point")


def entry_text(entry: Entry | None) -> str:
    """Return the whole text of a message entry; empty for other entries."""
    match entry:
        case MessageEntry(message=AssistantMessage() as answer):
            return answer.text
        case MessageEntry(message=UserMessage(content=content) | CustomMessage(content=content)):
            return text_of(content)
        case MessageEntry(message=ToolResultMessage(content=content)) | CustomMessageEntry(content=content):
            return text_of(content, "\n")
        case _:
            return ""
