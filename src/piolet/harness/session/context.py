"""From a path of the tree to what the model sees: pure functions (session format, section 8)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import EllipsisType
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from piolet.base.ids import parse_time
from piolet.harness.messages import (
    BranchSummaryMessage,
    CompactionSummaryMessage,
    CustomMessage,
)
from piolet.harness.session.entries import (
    BranchSummaryEntry,
    CompactionEntry,
    ContextEditEntry,
    CustomMessageEntry,
    Entry,
    MessageEntry,
    Replacement,
    StoredMessage,
)
from piolet.harness.session.index import Head, Index, ModelRef
from piolet.llm.messages import AssistantMessage, TextContent, ToolResultMessage, UserMessage


class SessionContext(Struct, frozen=True):
    """What the model sees at one leaf. `entries` are those that the compaction rule leaves, in the model's order.

    `kept`: how many of `messages` are the last compaction's summary and what it kept. `settled`: how many are of
    entries up to the last compaction or context edit.
    """

    messages: list[StoredMessage]
    thinking_level: str
    model: ModelRef | None
    entries: list[Entry]
    kept: int = 0
    settled: int = 0


class Selection(Struct, frozen=True):
    """What of a path goes into the context, and the settings that the whole path gives.

    `kept`: how many of `heads` are the last compaction and what it kept. `settled`: how many stand on the path up to
    the last compaction or context edit.
    """

    heads: list[Head]
    thinking_level: str
    model: ModelRef | None
    kept: int = 0
    settled: int = 0


def build_context(entries: Sequence[Entry], leaf: str | EllipsisType | None = ...) -> SessionContext:
    """Return the context of `entries` at `leaf`: by default, or if it is unknown, the last entry; None: nothing."""
    index = Index()
    index.add_entries(entries)
    by_id = {entry.id: entry for entry in entries}
    if leaf is ... or (leaf is not None and leaf not in by_id):
        leaf = entries[-1].id if entries else None
    selection = select(index.path(leaf))
    return assemble(selection, [by_id[head.id] for head in selection.heads])


def select(path: Sequence[Head]) -> Selection:
    """Return which entries of a path, root first, go into the context.

    The last compaction stands first, then what it kept of the entries before it, then the entries after it.
    """
    level = next((head.level for head in reversed(path) if head.level is not None), "off")
    model = next((head.model for head in reversed(path) if head.model is not None), None)
    cut = _last(path, lambda head: head.type == "compaction")
    if cut < 0:
        return Selection(list(path), level, model, settled=_last(path, _is_edit) + 1)
    compaction = path[cut]
    first = _last(path[:cut], lambda head: head.id == compaction.link)
    kept = [head for head in path[first:cut] if head.role != "system"] if first >= 0 else []
    after = path[cut + 1 :]
    chosen = [compaction, *kept]
    return Selection([*chosen, *after], level, model, len(chosen), len(chosen) + _last(after, _is_edit) + 1)


def _last(path: Sequence[Head], wanted: Callable[[Head], bool]) -> int:
    """Return the last place where `wanted` holds, -1 if there is none: what matters of a long path is near its end."""
    return next((place for place in range(len(path) - 1, -1, -1) if wanted(path[place])), -1)


def _is_edit(head: Head) -> bool:
    return head.type == "context_edit"


def assemble(selection: Selection, entries: Sequence[Entry]) -> SessionContext:
    """Return the context of the selected entries, given in the selection's order."""
    edits = {entry.target_id: entry.replacement for entry in entries if isinstance(entry, ContextEditEntry)}
    messages: list[StoredMessage] = []
    kept = settled = 0
    for place, entry in enumerate(entries):
        if isinstance(entry, CompactionEntry) and place > 0:
            continue  # an older one, inside the kept range: the newest summary covers it
        if entry.id not in edits:
            messages += messages_of(entry)
        elif (replacement := edits[entry.id]) is not None:
            messages += [edited(message, replacement) for message in messages_of(entry)]
        if place < selection.kept:
            kept = len(messages)
        if place < selection.settled:
            settled = len(messages)
    return SessionContext(messages, selection.thinking_level, selection.model, list(entries), kept, settled)


def messages_of(entry: Entry) -> list[StoredMessage]:
    """Return the messages that one entry gives to the context: mostly one or none."""
    match entry:
        case MessageEntry(message=message):
            return [message]
        case CustomMessageEntry():
            time = entry_ms(entry)
            return [CustomMessage(entry.custom_type, entry.content, entry.display, time, entry.details)]
        case BranchSummaryEntry(summary=summary, from_id=from_id) if summary:
            return [BranchSummaryMessage(summary, from_id, entry_ms(entry))]
        case CompactionEntry(summary=summary, tokens_before=tokens, system_message=system):
            message = CompactionSummaryMessage(summary, tokens, entry_ms(entry))
            return [message] if system is None else [system, message]
        case _:
            return []


def entry_ms(entry: Entry) -> int:
    """Return the time of an entry as Unix milliseconds, 0 if it is unreadable."""
    return parse_time(entry.timestamp) or 0


def edited(message: StoredMessage, replacement: Replacement) -> StoredMessage:
    """Return `message` with other content."""
    content: Any = replacement.content
    match message:
        case UserMessage() | CustomMessage():
            return replace(message, content=content)
        case AssistantMessage() | ToolResultMessage():
            return replace(message, content=[TextContent(content)] if isinstance(content, str) else content)
        case _:
            return message
