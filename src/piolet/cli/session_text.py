"""Entries of a session as plain text for the command line."""

from __future__ import annotations

from typing import NamedTuple

from piolet.base.json import dumps
from piolet.harness.messages import BashExecutionMessage, bash_text
from piolet.harness.session.context import messages_of
from piolet.harness.session.entries import (
    BranchSummaryEntry,
    CompactionEntry,
    Entry,
    LabelEntry,
    MessageEntry,
    ModelChangeEntry,
    SessionInfoEntry,
    ThinkingLevelChangeEntry,
)
from piolet.llm.messages import AssistantMessage, TextContent, ToolCall, ToolResultMessage, text_of


class EntryText(NamedTuple):
    title: str
    text: str


def entry_text(entry: Entry) -> EntryText:
    """Return a title (role or type, what it is about) and the text of an entry; the text may be empty."""
    match entry:
        case MessageEntry(message=AssistantMessage() as message):
            return EntryText(f"assistant ({message.model})", _answer(message))
        case MessageEntry(message=ToolResultMessage() as message):
            failed = " failed" if message.is_error else ""
            return EntryText(f"{message.tool_name or 'tool'}{failed}", text_of(message.content, "\n"))
        case MessageEntry(message=BashExecutionMessage() as message):
            return EntryText("user's command", bash_text(message))
        case CompactionEntry(summary=summary) | BranchSummaryEntry(summary=summary):
            return EntryText(entry.type.replace("_", " "), summary)
        case ModelChangeEntry(provider=provider, model_id=model):
            return EntryText(f"model {provider}/{model}", "")
        case ThinkingLevelChangeEntry(thinking_level=level):
            return EntryText(f"thinking {level}", "")
        case SessionInfoEntry(name=name):
            return EntryText(f"name {name!r}" if name else "name cleared", "")
        case LabelEntry(target_id=target, label=label):
            return EntryText(f"label {label!r} on {target}" if label else f"label of {target} cleared", "")
        case _:
            texts = [text_of(getattr(message, "content", ""), "\n") for message in messages_of(entry)]
            role = entry.message.role if isinstance(entry, MessageEntry) else entry.type
            return EntryText(role.replace("_", " "), "\n".join(texts))


def _answer(message: AssistantMessage) -> str:
    parts = []
    for block in message.content:
        if isinstance(block, TextContent):
            parts.append(block.text)
        elif isinstance(block, ToolCall):
            parts.append(f"-> {block.name} {dumps(block.arguments)}")
    if message.error_message:
        parts.append(f"({message.error_message})")
    return "\n".join(parts)
