"""What each entry of a session says in the tree (terminal specification, section 8)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from piolet.base.ids import parse_time
from piolet.harness.messages import BashExecutionMessage, CustomMessage
from piolet.harness.prompt.skills import as_typed
from piolet.harness.session.entries import (
    BranchSummaryEntry,
    CompactionEntry,
    CustomEntry,
    CustomMessageEntry,
    Entry,
    LabelEntry,
    MessageEntry,
    ModelChangeEntry,
    SessionInfoEntry,
    ThinkingLevelChangeEntry,
)
from piolet.harness.session.session import Session
from piolet.llm.messages import AssistantMessage, ToolCall, ToolResultMessage, UserMessage, text_of
from piolet.tui.blocks.footer import count
from piolet.tui.tree_layout import NodeKind, TreeNode

TEXT_LIMIT, ERROR_LIMIT, COMMAND_LIMIT, ARGUMENTS_LIMIT = 200, 80, 50, 40


def tree_nodes(session: Session) -> list[TreeNode]:
    """Return all entries as nodes, in the order of the file, on parents that form no cycle."""
    parents: dict[str, str] = {}
    pending = session.tree()
    while pending:
        node = pending.pop()
        parents.update((child.id, node.id) for child in node.children)
        pending += node.children
    calls: dict[str, ToolCall] = {}
    nodes: list[TreeNode] = []
    for entry in session.entries:
        message = entry.message if isinstance(entry, MessageEntry) else None
        if isinstance(message, AssistantMessage):
            calls.update((call.id, call) for call in message.tool_calls)
        label = session.labels.get(entry.id)
        kind, prefix, text, remark = _said(entry, calls)
        nodes.append(
            TreeNode(
                entry.id,
                parents.get(entry.id),
                kind,
                text[:TEXT_LIMIT],
                prefix,
                remark,
                silent=isinstance(message, AssistantMessage) and _only_calls(message),
                label=label.text if label else "",
                label_ms=(parse_time(label.timestamp) or 0) if label else 0,
                search=message.tool_name if isinstance(message, ToolResultMessage) else "",
            )
        )
    return nodes


def _only_calls(message: AssistantMessage) -> bool:
    return not message.text.strip() and message.stop_reason not in ("aborted", "error") and bool(message.tool_calls)


def _said(entry: Entry, calls: Mapping[str, ToolCall]) -> tuple[NodeKind, str, str, bool]:
    """Return the kind, who speaks, what, and whether that is only a remark."""
    match entry:
        case MessageEntry(message=message):
            return _message(message, calls)
        case CustomMessageEntry(custom_type=custom_type, content=content):
            return "custom_message", f"[{custom_type}]:", text_of(content, " "), False
        case CompactionEntry(tokens_before=tokens):
            return "compaction", "", f"[compaction: {count(tokens)} tokens]", False
        case BranchSummaryEntry(summary=summary):
            return "branch_summary", "[branch summary]:", summary, False
        case ModelChangeEntry(model_id=model):
            return "bookkeeping", "", f"[model: {model}]", False
        case ThinkingLevelChangeEntry(thinking_level=level):
            return "bookkeeping", "", f"[thinking: {level}]", False
        case CustomEntry(custom_type=custom_type):
            return "bookkeeping", "", f"[custom: {custom_type}]", False
        case LabelEntry(label=label):
            return "bookkeeping", "", f"[label: {label or '(cleared)'}]", False
        case SessionInfoEntry(name=name):
            return "bookkeeping", "", f"[title: {name or '(cleared)'}]", False
        case _:
            return "bookkeeping", "", f"[{entry.type}]", False


def _message(message: object, calls: Mapping[str, ToolCall]) -> tuple[NodeKind, str, str, bool]:
    match message:
        case UserMessage(content=content):
            text = as_typed(text_of(content, " "))
            return "user", "user:", text or "(no text)", not text
        case AssistantMessage():
            return _answer(message)
        case ToolResultMessage(tool_name=name, tool_call_id=id):
            return "tool", "", tool_text(name, calls[id].arguments if id in calls else {}), False
        case BashExecutionMessage(command=command):
            return "bash", "[bash]:", command, False
        case CustomMessage(custom_type=custom_type, content=content):
            return "custom_message", f"[{custom_type}]:", text_of(content, " "), False
        case _:
            return "bookkeeping", "", f"[{getattr(message, 'role', 'message')}]", False


def _answer(message: AssistantMessage) -> tuple[NodeKind, str, str, bool]:
    text = message.text
    if text.strip():
        return "assistant", "assistant:", text, False
    if message.stop_reason == "aborted":
        return "assistant", "assistant:", "(aborted)", True
    if message.error_message:
        return "assistant", "assistant:", message.error_message[:ERROR_LIMIT], True
    return "assistant", "assistant:", "(no content)", True


def tool_text(name: str, arguments: Mapping[str, Any]) -> str:
    """Return a tool result in brackets: the tool and the argument that tells most."""

    def said(*names: str) -> str:
        return " ".join(str(arguments.get(name) or "") for name in names).strip()

    match name:
        case "read":
            return f"[read: {said('path')}{_range(arguments)}]"
        case "write" | "edit":
            return f"[{name}: {said('path')}]"
        case "bash":
            command = " ".join(said("command").split())
            return f"[bash: {command[:COMMAND_LIMIT]}{'...' if len(command) > COMMAND_LIMIT else ''}]"
        case "grep":
            return f"[grep: /{said('pattern')}/ in {said('path') or '.'}]"
        case "find":
            return f"[find: {said('pattern')} in {said('path') or '.'}]"
        case "ls":
            return f"[ls: {said('path') or '.'}]"
        case _:
            text = json.dumps(dict(arguments), ensure_ascii=False, default=str)
            return f"[{name}: {text[:ARGUMENTS_LIMIT]}{'…' if len(text) > ARGUMENTS_LIMIT else ''}]"


def _range(arguments: Mapping[str, Any]) -> str:
    numbers: Sequence[Any] = [arguments.get("offset"), arguments.get("limit")]
    offset, limit = (int(n) if isinstance(n, int | float) else None for n in numbers)
    if offset is None and limit is None:
        return ""
    start = offset or 1
    return f":{start}-{start + limit - 1}" if limit else f":{start}"
