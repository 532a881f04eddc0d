"""The hooks of compaction and of moving in the tree (the compaction specification, section 10)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from piolet.base.abort import AbortSignal
from piolet.harness.events import CompactionReason
from piolet.harness.hooks import Hook
from piolet.harness.session.entries import Entry
from piolet.llm.messages import Usage

if TYPE_CHECKING:
    from piolet.harness.compaction.prepare import Preparation


class CompactionProposal(Struct, frozen=True):
    """A summary to store as it is. What is None comes from the preparation. `from_hook`: a handler wrote it."""

    summary: str
    first_kept_entry_id: str | None = None
    tokens_before: int | None = None
    details: Any = None
    usage: Usage | None = None
    from_hook: bool = True


class CompactDecision(Struct, frozen=True):
    """Cancels the compaction, or brings its own summary; neither: the built-in one is made."""

    cancel: bool = False
    compaction: CompactionProposal | None = None


class BeforeCompact(Struct, frozen=True):
    """A compaction is planned. `branch_entries`: the active branch, root first."""

    preparation: Preparation
    branch_entries: Sequence[Entry]
    custom_instructions: str | None
    reason: CompactionReason
    will_retry: bool
    signal: AbortSignal
    cancel: bool = False
    compaction: CompactionProposal | None = None


def _fold_compact(event: BeforeCompact, decision: CompactDecision) -> BeforeCompact:
    return replace(event, cancel=decision.cancel, compaction=decision.compaction or event.compaction)


SESSION_BEFORE_COMPACT: Hook[BeforeCompact, CompactDecision] = Hook(
    "session_before_compact", fold=_fold_compact, done=lambda event: event.cancel
)


class TreePreparation(Struct, frozen=True):
    """A move in the tree. `entries_to_summarize`: what is left behind, oldest first."""

    target_id: str
    old_leaf_id: str | None
    common_ancestor_id: str | None
    entries_to_summarize: Sequence[Entry]
    user_wants_summary: bool
    custom_instructions: str | None = None
    replace_instructions: bool = False
    label: str | None = None


class BranchSummaryProposal(Struct, frozen=True):
    """A summary of the branch that is left, stored as it is."""

    summary: str
    details: Any = None
    usage: Usage | None = None


class TreeDecision(Struct, frozen=True):
    """Cancels the move, or brings a summary (used only if the user wants one); the rest overrides what was asked."""

    cancel: bool = False
    summary: BranchSummaryProposal | None = None
    custom_instructions: str | None = None
    replace_instructions: bool | None = None
    label: str | None = None


class BeforeTree(Struct, frozen=True):
    """The leaf is about to move to another place of the tree."""

    preparation: TreePreparation
    signal: AbortSignal
    cancel: bool = False
    summary: BranchSummaryProposal | None = None


def _fold_tree(event: BeforeTree, decision: TreeDecision) -> BeforeTree:
    asked = event.preparation
    if decision.custom_instructions is not None:
        asked = replace(asked, custom_instructions=decision.custom_instructions)
    if decision.replace_instructions is not None:
        asked = replace(asked, replace_instructions=decision.replace_instructions)
    if decision.label is not None:
        asked = replace(asked, label=decision.label)
    return replace(event, preparation=asked, cancel=decision.cancel, summary=decision.summary or event.summary)


SESSION_BEFORE_TREE: Hook[BeforeTree, TreeDecision] = Hook(
    "session_before_tree", fold=_fold_tree, done=lambda event: event.cancel
)
