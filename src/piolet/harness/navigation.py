"""Moving the leaf to another place of the tree, with a summary of the branch that is left if one is wanted.

Source: the session format, section 7, and the compaction specification, section 9.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from piolet.base.abort import AbortSignal
from piolet.harness.compaction.branch import left_branch, summarize_branch
from piolet.harness.compaction.hook_points import (
    SESSION_BEFORE_TREE,
    BeforeTree,
    BranchSummaryProposal,
    TreePreparation,
)
from piolet.harness.compaction.summarize import SummaryAborted, SummaryFailed
from piolet.harness.errors import CompactionFailed, UnknownTarget
from piolet.harness.events import SessionTree
from piolet.harness.session.entries import BranchSummaryEntry, CustomMessageEntry, Entry, MessageEntry
from piolet.llm.messages import UserMessage, text_of

if TYPE_CHECKING:
    from piolet.harness.harness import AgentHarness


class NavigationResult(Struct, frozen=True):
    """`cancelled`: nothing changed. `editor_text`: the text of a user's message that is to be written anew."""

    cancelled: bool = False
    editor_text: str | None = None
    summary_entry: BranchSummaryEntry | None = None


async def navigate(
    harness: AgentHarness,
    target_id: str,
    signal: AbortSignal,
    *,
    summarize: bool,
    custom_instructions: str | None,
    replace_instructions: bool,
    label: str | None,
) -> NavigationResult:
    """Move the leaf of the harness's session. Raises `UnknownTarget`, `CompactionFailed`; then nothing has changed."""
    session = harness.session
    target = session.get_entry(target_id)
    if target is None:
        raise UnknownTarget(f"Entry not found: {target_id}")
    old_leaf = session.leaf_id
    if target_id == old_leaf:
        return NavigationResult()
    left = left_branch(session.path_heads(), session.path_heads(target_id))
    seen = summarize or harness.hooks.wanted(SESSION_BEFORE_TREE)
    asked = TreePreparation(
        target_id,
        old_leaf,
        left.common_ancestor_id,
        session.entries_of(left.entries) if seen else (),
        summarize,
        custom_instructions,
        replace_instructions,
        label,
    )
    event = await harness.hooks.run(SESSION_BEFORE_TREE, BeforeTree(asked, signal), signal)
    if event.cancel or signal.aborted:
        return NavigationResult(cancelled=True)
    asked = event.preparation
    summary = event.summary if asked.user_wants_summary else None
    from_extension = summary is not None
    if summary is None and asked.user_wants_summary and left.entries:
        try:
            summary = await _summary(harness, asked, signal)
        except SummaryAborted:
            return NavigationResult(cancelled=True)
        except SummaryFailed as error:
            raise CompactionFailed(f"The branch could not be summarized: {error}") from error
    place, editor_text = _destination(target)
    try:
        summary_entry = _move(harness, place, summary, from_hook=from_extension)
        if asked.label:
            session.append_label(summary_entry.id if summary_entry else target_id, asked.label)
    finally:
        harness.context.rebuild()
    await harness.publish(SessionTree(session.leaf_id, old_leaf, summary_entry, from_extension))
    return NavigationResult(editor_text=editor_text, summary_entry=summary_entry)


async def _summary(harness: AgentHarness, asked: TreePreparation, signal: AbortSignal) -> BranchSummaryProposal:
    written = await summarize_branch(
        harness.compactor.summarizer(signal, "branchSummary"),
        asked.entries_to_summarize,
        harness.compaction.branch_reserve_tokens(),
        asked.custom_instructions,
        replace_instructions=asked.replace_instructions,
    )
    return BranchSummaryProposal(written.text, written.details, written.usage)


def _destination(target: Entry) -> tuple[str | None, str | None]:
    """Return where the leaf goes, and the text that goes back into the editor."""
    match target:
        case MessageEntry(message=UserMessage(content=content)):
            return target.parent_id, text_of(content)
        case CustomMessageEntry(content=content):
            return target.parent_id, text_of(content)
        case _:
            return target.id, None


def _move(
    harness: AgentHarness, place: str | None, summary: BranchSummaryProposal | None, *, from_hook: bool
) -> BranchSummaryEntry | None:
    session = harness.session
    if summary is not None:
        entry_id = session.branch_with_summary(
            place, summary.summary, details=summary.details, from_hook=from_hook, usage=summary.usage
        )
        entry = session.get_entry(entry_id)
        return entry if isinstance(entry, BranchSummaryEntry) else None
    if place is None:
        session.reset_leaf()
    else:
        session.branch(place)
    return None
