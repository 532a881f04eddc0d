"""Where to cut a branch: what is before the cut is summarized, what is after it is kept as it is.

Pure; never between a call and its result. Source: the compaction specification, section 3.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from piolet.harness.compaction.estimate import sum_of_tokens
from piolet.harness.messages import AgentMessage, BashExecutionMessage, BranchSummaryMessage, CustomMessage
from piolet.harness.session.context import edited, messages_of
from piolet.harness.session.entries import CompactionEntry, ContextEditEntry, Entry, MessageEntry
from piolet.llm.messages import AssistantMessage, UserMessage

_TURN_STARTERS = (UserMessage, BashExecutionMessage, CustomMessage, BranchSummaryMessage)
_CUT_POINTS = (AssistantMessage, *_TURN_STARTERS)


class CutPoint(Struct, frozen=True):
    """`index` of the first entry that is kept. A split turn starts at `turn_start`; -1 if the turn is not split."""

    index: int
    turn_start: int = -1

    @property
    def is_split(self) -> bool:
        return self.turn_start >= 0


class Projected(Struct, frozen=True):
    """A branch with what each of its entries gives to the context, edits applied."""

    entries: Sequence[Entry]
    messages: Sequence[Sequence[AgentMessage]]

    @classmethod
    def of(cls, path: Sequence[Entry]) -> Projected:
        edits = {entry.target_id: entry for entry in path if isinstance(entry, ContextEditEntry)}
        return cls(path, [_given(entry, edits.get(entry.id)) for entry in path])

    def weight(self, index: int) -> int:
        return sum_of_tokens(self.messages[index])

    def gives(self, index: int, kinds: tuple[type, ...]) -> bool:
        return any(isinstance(message, kinds) for message in self.messages[index])


def _given(entry: Entry, edit: ContextEditEntry | None) -> Sequence[AgentMessage]:
    if isinstance(entry, CompactionEntry):
        return ()
    messages = messages_of(entry)
    if edit is None:
        return messages
    return [] if edit.replacement is None else [edited(message, edit.replacement) for message in messages]


def find_turn_start(branch: Projected, index: int, start: int = 0) -> int:
    """Return the nearest entry at or before `index` that starts a turn, -1 if there is none from `start` on."""
    return next((i for i in range(index, start - 1, -1) if branch.gives(i, _TURN_STARTERS)), -1)


def find_cut_point(branch: Projected, keep_recent_tokens: int, start: int = 0, end: int | None = None) -> CutPoint:
    """Return where to cut so that about `keep_recent_tokens` of the entries in ``[start, end)`` are kept."""
    end = len(branch.entries) if end is None else end
    points = [i for i in range(start, end) if branch.gives(i, _CUT_POINTS)]
    if not points:
        return CutPoint(start)
    cut, exceeded = points[0], False
    kept = 0
    for index in range(end - 1, start - 1, -1):
        weight = branch.weight(index)
        kept += weight
        if weight and kept >= keep_recent_tokens:
            cut = next((point for point in points if point >= index), points[-1])
            exceeded = True
            break
    if exceeded and _only_failures_follow(branch, cut, end):
        cut += 1
    else:
        while cut > start and not branch.messages[cut - 1] and not isinstance(branch.entries[cut - 1], CompactionEntry):
            cut -= 1
    if branch.gives(cut, _TURN_STARTERS):
        return CutPoint(cut)
    return CutPoint(cut, find_turn_start(branch, cut - 1, start))


def _only_failures_follow(branch: Projected, cut: int, end: int) -> bool:
    """Whether nothing is left behind the cut but answers that recovery took out of the context.

    Then the question that was too long is summarized too, else the next request would fail like the last.
    """
    tail = range(cut + 1, end)
    if any(branch.messages[i] for i in tail) or any(isinstance(branch.entries[i], CompactionEntry) for i in tail):
        return False
    inside = {branch.entries[i].id for i in tail}
    edits = [entry for i in tail if isinstance(entry := branch.entries[i], ContextEditEntry)]
    if any(edit.replacement is not None and edit.target_id not in inside for edit in edits):
        return False
    return any(
        isinstance(entry := branch.entries[i], MessageEntry) and isinstance(entry.message, AssistantMessage)
        for i in tail
    )
