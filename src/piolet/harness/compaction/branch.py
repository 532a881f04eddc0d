"""The summary of a branch that is left (the compaction specification, section 9)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, Protocol, TypeVar

from msgspec import Struct, field

from piolet.harness.compaction import wording
from piolet.harness.compaction.estimate import message_tokens
from piolet.harness.compaction.files import FileOperations
from piolet.harness.compaction.summarize import Summarizer, Summary, branch_prompt
from piolet.harness.messages import AgentMessage, BranchSummaryMessage, CompactionSummaryMessage, SystemMessage
from piolet.harness.session.context import edited, messages_of
from piolet.harness.session.entries import BranchSummaryEntry, ContextEditEntry, Entry
from piolet.llm.messages import ToolResultMessage

#: The window that is assumed where none is known.
DEFAULT_WINDOW = 128_000
#: A summary that does not fit is added all the same while less than this part of the budget is used.
SQUEEZE = 0.9


class HasId(Protocol):
    """An entry, or its head."""

    @property
    def id(self) -> str: ...


N = TypeVar("N", bound=HasId)


class LeftBranch(Struct, Generic[N], frozen=True):
    """What is left behind: entries, oldest first, and the deepest entry that both branches share."""

    entries: Sequence[N]
    common_ancestor_id: str | None


class BranchMaterial(Struct, frozen=True):
    """What of a branch fits into the budget, oldest first."""

    messages: Sequence[AgentMessage]
    total_tokens: int
    file_ops: FileOperations = field(default_factory=FileOperations)


def left_branch(old_path: Sequence[N], target_path: Sequence[HasId]) -> LeftBranch[N]:
    """Return the part of the branch `old_path` that is not on `target_path` (both root first)."""
    there = {entry.id for entry in target_path}
    common = max((i for i, entry in enumerate(old_path) if entry.id in there), default=-1)
    return LeftBranch(old_path[common + 1 :], old_path[common].id if common >= 0 else None)


def prepare_branch(entries: Sequence[Entry], budget: int) -> BranchMaterial:
    """Choose messages, newest first, while their sum stays within `budget` tokens (0: no limit)."""
    operations = FileOperations()
    for entry in entries:
        if isinstance(entry, BranchSummaryEntry) and not entry.from_hook:
            operations.add_details(entry.details)
    edits = {entry.target_id: entry for entry in entries if isinstance(entry, ContextEditEntry)}
    chosen: list[AgentMessage] = []
    total = 0
    for entry in reversed(entries):
        edit = edits.get(entry.id)
        messages = messages_of(entry)
        if edit is not None:
            messages = [] if edit.replacement is None else [edited(m, edit.replacement) for m in messages]
        operations.add_messages(messages)
        given = [m for m in messages if not isinstance(m, ToolResultMessage | SystemMessage)]
        if not given:
            continue
        tokens = sum(message_tokens(message) for message in given)
        if budget and total + tokens > budget:
            is_summary = isinstance(given[-1], BranchSummaryMessage | CompactionSummaryMessage)
            if is_summary and total < budget * SQUEEZE:
                chosen += reversed(given)
                total += tokens
            break
        chosen += reversed(given)
        total += tokens
    return BranchMaterial(chosen[::-1], total, operations)


async def summarize_branch(
    summarizer: Summarizer,
    entries: Sequence[Entry],
    reserve_tokens: int,
    instructions: str | None = None,
    *,
    replace_instructions: bool = False,
) -> Summary:
    """Return the summary of a branch, without a request if there is nothing in it. Raises as the summarizer does."""
    budget = max((summarizer.model.context_window or DEFAULT_WINDOW) - reserve_tokens, 1)
    material = prepare_branch(entries, budget)
    if not material.messages:
        return Summary(wording.NO_BRANCH_CONTENT, material.file_ops.details())
    prompt = branch_prompt(material.messages, instructions, instead=replace_instructions)
    answer = await summarizer.request(prompt)
    text = f"{wording.BRANCH_PREAMBLE}\n\n{answer.text}{material.file_ops.tags()}"
    return Summary(text, material.file_ops.details(), answer.usage)
