"""What a compaction summarizes and what it keeps: planned before anything is asked (the specification, section 4)."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct, field

from piolet.harness.compaction.cut import Projected, find_cut_point
from piolet.harness.compaction.estimate import estimate_context, project
from piolet.harness.compaction.files import FileOperations
from piolet.harness.compaction.settings import CompactionSettings
from piolet.harness.messages import AgentMessage, SystemMessage
from piolet.harness.session.entries import CompactionEntry, Entry


class Preparation(Struct, frozen=True):
    """A compaction that can be made. `turn_prefix_messages`: the front of a turn that is too long to be kept whole."""

    first_kept_entry_id: str
    messages_to_summarize: Sequence[AgentMessage]
    turn_prefix_messages: Sequence[AgentMessage]
    tokens_before: int
    settings: CompactionSettings
    previous_summary: str | None = None
    file_ops: FileOperations = field(default_factory=FileOperations)

    @property
    def is_split_turn(self) -> bool:
        return bool(self.turn_prefix_messages)


def prepare(path: Sequence[Entry], settings: CompactionSettings) -> Preparation | None:
    """Plan the compaction of a branch, root first; None if there is nothing to do."""
    if not path or isinstance(path[-1], CompactionEntry):
        return None
    branch = Projected.of(path)
    earlier = next((i for i in range(len(path) - 1, -1, -1) if isinstance(path[i], CompactionEntry)), None)
    start = _start(path, earlier)
    cut = find_cut_point(branch, settings.keep_recent_tokens, start)
    history_end = cut.turn_start if cut.is_split else cut.index
    history = _material(branch, start, history_end)
    prefix = _material(branch, cut.turn_start, cut.index) if cut.is_split else []
    if (not history and not prefix) or cut.index >= len(path):
        return None
    operations = FileOperations()
    previous = path[earlier] if earlier is not None else None
    if isinstance(previous, CompactionEntry) and not previous.from_hook:
        operations.add_details(previous.details)
    operations.add_messages([*history, *prefix])
    return Preparation(
        first_kept_entry_id=path[cut.index].id,
        messages_to_summarize=history,
        turn_prefix_messages=prefix,
        tokens_before=estimate_context(project(path).messages).tokens,
        settings=settings,
        previous_summary=previous.summary if isinstance(previous, CompactionEntry) else None,
        file_ops=operations,
    )


def _start(path: Sequence[Entry], earlier: int | None) -> int:
    """Where the material begins: at what the earlier compaction kept, so that it is summarized the second time."""
    if earlier is None:
        return 0
    compaction = path[earlier]
    kept = compaction.first_kept_entry_id if isinstance(compaction, CompactionEntry) else None
    return next((i for i in range(earlier) if path[i].id == kept), earlier + 1)


def _material(branch: Projected, start: int, end: int) -> list[AgentMessage]:
    return [
        message
        for messages in branch.messages[start:end]
        for message in messages
        if not isinstance(message, SystemMessage)
    ]
