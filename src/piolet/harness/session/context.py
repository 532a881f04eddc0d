"""From a path of the tree to what the model sees: pure functions (session format, section 8)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from itertools import chain, repeat
from operator import attrgetter
from types import EllipsisType
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from piolet.base.ids import parse_time
from piolet.base.made_later import MadeLater
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

_MANY = 1000  # entries that are decoded at once; of more, most may never be asked for


class SessionContext(Struct, frozen=True):
    """What the model sees at one leaf. `entries` are those that the compaction rule leaves, in the model's order.

    Of a long context the messages are decoded when they are read, and then kept: that raises `HistoryChanged` if the
    file is gone. `kept`: how many of `messages` are the last compaction's summary and what it kept. `settled`: how many
    are of entries up to the last compaction or context edit.
    """

    messages: Sequence[StoredMessage]
    thinking_level: str
    model: ModelRef | None
    entries: Sequence[Entry]
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
    return assemble(selection, lambda heads: [by_id[head.id] for head in heads])


def select(path: Sequence[Head], model_of: Callable[[Head], ModelRef | None] = attrgetter("model")) -> Selection:
    """Return which entries of a path, root first, go into the context.

    The last compaction stands first, then what it kept of the entries before it, then the entries after it. `model_of`
    tells the model that an entry puts in use, if it does.
    """
    level = next((head.level for head in reversed(path) if head.level is not None), "off")
    model = next((model for head in reversed(path) if (model := model_of(head)) is not None), None)
    types = [head.type for head in path]
    cut, edit = _last(types, "compaction"), _last(types, "context_edit")
    if cut < 0:
        return Selection(list(path), level, model, settled=edit + 1)
    compaction = path[cut]
    first = _last([head.id for head in path[:cut]], compaction.link)
    kept = [head for head in path[first:cut] if head.role != "system"] if first >= 0 else []
    chosen = [compaction, *kept]
    return Selection([*chosen, *path[cut + 1 :]], level, model, len(chosen), len(chosen) + max(edit - cut, 0))


def _last(values: Sequence[str], wanted: str | None) -> int:
    """Return the last place of `wanted`, -1 if it is not there."""
    return len(values) - 1 - values[::-1].index(wanted) if wanted in values else -1


def is_long(selection: Selection) -> bool:
    """Whether a selection is of so many entries that they are not all decoded at once."""
    return len(selection.heads) > _MANY


def assemble(selection: Selection, read: Callable[[Sequence[Head]], Sequence[Entry]]) -> SessionContext:
    """Return the context of a selection; `read` decodes entries."""
    heads = selection.heads
    entries: MadeLater[Entry] = MadeLater(len(heads), lambda places: read([heads[place] for place in places]))
    at_once: Sequence[int] = range(len(heads))
    if is_long(selection):
        at_once = [place for place in at_once[:-1] if heads[place].type != "message" or heads[place].role is None]
        at_once.append(len(heads) - 1)  # that the file can be read is known from here on
    counts = [1] * len(heads)  # of the messages that each entry gives: a message gives one, whatever it says
    edits: dict[str, Replacement | None] = {}
    for place, entry in zip(at_once, entries.at(at_once), strict=True):
        is_older = place > 0 and isinstance(entry, CompactionEntry)  # in the kept range: the newest summary covers it
        counts[place] = 0 if is_older else len(messages_of(entry))
        if isinstance(entry, ContextEditEntry):
            edits[entry.target_id] = entry.replacement
    if None in edits.values():
        counts = [0 if edits.get(head.id, ...) is None else count for head, count in zip(heads, counts, strict=True)]
    sources = list(chain.from_iterable(map(repeat, range(len(counts)), counts)))  # the place of each message's entry

    def messages_at(wanted: Sequence[int]) -> list[StoredMessage]:
        messages = []
        for place, entry in zip(wanted, entries.at([sources[place] for place in wanted]), strict=True):
            message = messages_of(entry)[place - bisect_left(sources, sources[place])]
            replacement = edits.get(entry.id)
            messages.append(message if replacement is None else edited(message, replacement))
        return messages

    messages = MadeLater(len(sources), messages_at)
    kept, settled = sum(counts[: selection.kept]), sum(counts[: selection.settled])
    return SessionContext(messages, selection.thinking_level, selection.model, entries, kept, settled)


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
