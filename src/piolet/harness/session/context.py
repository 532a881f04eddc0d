"""From a path of the tree to what the model sees: pure functions (session format, section 8)."""

from __future__ import annotations

from collections.abc import Sequence
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
    """What the model sees at one leaf. `entries` are those that the compaction rule leaves, in the model's order."""

    messages: list[StoredMessage]
    thinking_level: str
    model: ModelRef | None
    entries: list[Entry]


class Selection(Struct, frozen=True):
    """What of a path goes into the context, and the settings that the whole path gives."""

    heads: list[Head]
    thinking_level: str
    model: ModelRef | None


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
    level = "off"
    model = None
    cut = -1
    for place, head in enumerate(path):
        if head.level is not None:
            level = head.level
        if head.model is not None:
            model = head.model
        if head.type == "compaction":
            cut = place
    if cut < 0:
        return Selection(list(path), level, model)
    compaction = path[cut]
    first = next((place for place in range(cut) if path[place].id == compaction.link), cut)
    kept = [head for head in path[first:cut] if head.role != "system"]
    return Selection([compaction, *kept, *path[cut + 1 :]], level, model)


def assemble(selection: Selection, entries: Sequence[Entry]) -> SessionContext:
    """Return the context of the selected entries, given in the selection's order."""
    edits = {entry.target_id: entry.replacement for entry in entries if isinstance(entry, ContextEditEntry)}
    messages: list[StoredMessage] = []
    for place, entry in enumerate(entries):
        if isinstance(entry, CompactionEntry) and place > 0:
            continue  # an older one, inside the kept range: the newest summary covers it
        if entry.id not in edits:
            messages += messages_of(entry)
        elif (replacement := edits[entry.id]) is not None:
            messages += [edited(message, replacement) for message in messages_of(entry)]
    return SessionContext(messages, selection.thinking_level, selection.model, list(entries))


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
