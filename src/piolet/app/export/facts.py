"""What the page is told of a session: one node for each entry, sums, what surrounds it; and the lines of its file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from piolet.app.export.surroundings import Surroundings
from piolet.app.renderers.tree_rows import tree_nodes
from piolet.app.secrets import Secrets
from piolet.base.json import dumps, loads
from piolet.harness.messages import CustomMessage
from piolet.harness.session.entries import CustomMessageEntry, Entry, MessageEntry
from piolet.harness.session.session import Session
from piolet.llm.messages import AssistantMessage, ToolResultMessage, Usage, UserMessage, text_of
from piolet.tui.tree_layout import TreeNode

TITLE_LENGTH = 80  # of a session without a name


def session_facts(session: Session, secrets: Secrets, around: Surroundings) -> dict[str, Any]:
    """Return what the page's scripts find in ``facts``, secrets masked."""
    entries, totals = session.entries, session.totals()
    answers = [
        entry.message
        for entry in entries
        if isinstance(entry, MessageEntry) and isinstance(entry.message, AssistantMessage)
    ]
    facts = {
        "title": title_of(session),
        "session": {
            "id": session.id,
            "cwd": session.cwd,
            "created": session.header.timestamp,
            "file": Path(session.path or "session.jsonl").name,
        },
        "leaf": session.leaf_id,
        "models": list(dict.fromkeys(f"{answer.provider}/{answer.model}" for answer in answers if answer.model)),
        "totals": {
            "toolCalls": totals.tool_calls,
            "read": totals.input + totals.cache_read + totals.cache_write,
            "output": totals.output,
            "cost": totals.cost,
        },
        "prompt": around.prompt,
        "tools": [
            {"name": tool.name, "description": tool.description, "parameters": tool.parameters} for tool in around.tools
        ],
        "drawn": around.drawn,
        "nodes": [_node(node, entry) for node, entry in zip(tree_nodes(session), entries, strict=True)],
    }
    masked: dict[str, Any] = secrets.mask_in(facts)
    return masked


def title_of(session: Session) -> str:
    """Return the name of the session, else the beginning of its first question."""
    if session.name:
        return session.name
    first = ""
    for head in session.heads:
        entry = session.entry(head) if head.role == "user" else None
        if isinstance(entry, MessageEntry) and isinstance(entry.message, UserMessage):
            first = " ".join(text_of(entry.message.content, " ").split())
        if first:
            break
    if not first:
        return f"Session {session.id}"
    return first if len(first) <= TITLE_LENGTH else first[:TITLE_LENGTH].rstrip() + "…"


def session_lines(session: Session, secrets: Secrets) -> Iterator[str]:
    """Give the lines of the session's file, the header and every entry as it is stored, secrets masked."""
    yield _masked(dumps(session.header), secrets)
    for line in session.lines(session.heads):
        yield _masked(line.decode("utf-8", "replace").strip(), secrets)


def _masked(line: str, secrets: Secrets) -> str:
    """Return a line of JSON without secrets. It stays JSON: what has any is written anew."""
    return line if secrets.mask(line) == line else dumps(secrets.mask_in(loads(line)))


def _node(node: TreeNode, entry: Entry) -> dict[str, Any]:
    """Return a node without what is empty. `usage`: tokens in, out, from the cache and to it, and dollars."""
    message = entry.message if isinstance(entry, MessageEntry) else None
    said = entry if message is None else message
    usage = getattr(said, "usage", None)
    facts = {
        "id": node.id,
        "parent": node.parent,
        "kind": node.kind,
        "prefix": node.prefix,
        "text": node.text,
        "remark": node.remark,
        "silent": node.silent,
        "label": node.label,
        "hidden": isinstance(said, CustomMessageEntry | CustomMessage) and not said.display,
        "search": node.search,
        "usage": _usage(usage) if isinstance(usage, Usage) and usage.total_tokens else None,
        "call": message.tool_call_id if isinstance(message, ToolResultMessage) else None,
        "calls": [call.id for call in message.tool_calls] if isinstance(message, AssistantMessage) else None,
    }
    return {key: value for key, value in facts.items() if value}


def _usage(usage: Usage) -> list[float]:
    return [usage.input, usage.output, usage.cache_read, usage.cache_write, usage.cost.total]
