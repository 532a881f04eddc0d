"""Events as the plain JSON values of JSON and RPC mode (the RPC specification, section 3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from piolet.agent.events import (
    AgentEnd,
    AgentStart,
    MessageEnd,
    MessageStart,
    MessageUpdate,
    QueueUpdate,
    ToolExecutionEnd,
    ToolExecutionStart,
    ToolExecutionUpdate,
    TurnEnd,
    TurnStart,
)
from piolet.agent.tools import ToolResult
from piolet.app.commands import Command
from piolet.base.json import encode
from piolet.harness.events import (
    AgentSettled,
    AutoRetryEnd,
    AutoRetryStart,
    CompactionEnd,
    CompactionResult,
    CompactionStart,
    EntryAppended,
    HarnessEvent,
    SessionInfoChanged,
    SummarizationRetryAttemptStart,
    SummarizationRetryFinished,
    SummarizationRetryScheduled,
    ThinkingLevelSelect,
)
from piolet.harness.session.session import Session
from piolet.harness.session.tree import TreeNode
from piolet.harness.stats import SessionStats
from piolet.llm.messages import BaseMessage, text_of


def to_wire(event: HarnessEvent) -> dict[str, Any] | None:
    """Return `event` as the fields of its record (Structs inside are encoded by the writer); None if it has none."""
    fields = _fields(event)
    if fields is None:
        return None
    return {
        "type": fields.pop("type", event.type),
        **{key: value for key, value in fields.items() if value is not _GONE},
    }


_GONE = object()


def _fields(event: HarnessEvent) -> dict[str, Any] | None:
    match event:
        case AgentStart() | TurnStart() | SummarizationRetryFinished():
            return {}
        case MessageStart(message=message) | MessageEnd(message=message):
            return {"message": message}
        case MessageUpdate(assistant_message_event=update):
            return {"usage": event.usage, "assistantMessageEvent": update}
        case ToolExecutionStart():
            return {"toolCallId": event.tool_call_id, "toolName": event.tool_name, "args": event.args}
        case ToolExecutionUpdate():
            partial = tool_result(event.partial_result)
            return {
                "toolCallId": event.tool_call_id,
                "toolName": event.tool_name,
                "args": event.args,
                "partialResult": partial,
            }
        case ToolExecutionEnd():
            return {
                "toolCallId": event.tool_call_id,
                "toolName": event.tool_name,
                "result": tool_result(event.result),
                "isError": event.is_error,
                "durationMs": event.duration_ms,
            }
        case TurnEnd():
            return {"message": event.message, "toolResults": list(event.tool_results)}
        case AgentEnd():
            return {"messages": list(event.messages), "willRetry": event.will_retry}
        case AgentSettled(aborted=aborted):
            return {"aborted": aborted}
        case QueueUpdate():
            return {"steering": _texts(event.steering), "followUp": _texts(event.follow_up)}
        case _:
            return _harness_fields(event)


def _harness_fields(event: HarnessEvent) -> dict[str, Any] | None:
    match event:
        case CompactionStart(reason=reason):
            return {"reason": reason}
        case CompactionEnd():
            return {
                "reason": event.reason,
                "result": _GONE if event.result is None else compaction_result(event.result),
                "aborted": event.aborted,
                "willRetry": event.will_retry,
                "errorMessage": _or_gone(event.error_message),
            }
        case AutoRetryStart() | SummarizationRetryScheduled():
            return {
                "attempt": event.attempt,
                "maxAttempts": event.max_attempts,
                "delayMs": event.delay_ms,
                "errorMessage": event.error_message,
            }
        case AutoRetryEnd():
            return {"success": event.success, "attempt": event.attempt, "finalError": _or_gone(event.final_error)}
        case SummarizationRetryAttemptStart():
            return {"source": event.source, "reason": _or_gone(event.reason)}
        case EntryAppended(entry=entry):
            return {"entry": entry}
        case SessionInfoChanged(name=name):
            return {"name": _or_gone(name)}
        case ThinkingLevelSelect(level=level):
            return {"type": "thinking_level_changed", "level": level}
        case _:
            return None


def tool_result(result: ToolResult) -> dict[str, Any]:
    """Return the result of a tool as its record."""
    fields: dict[str, Any] = {"content": list(result.content)}
    if result.details is not None:
        fields["details"] = result.details
    if result.structured_content is not None:
        fields["structuredContent"] = result.structured_content
        if result.is_error:  # the command ran and failed, which is not the tool's failure
            fields["isError"] = True
    return fields


def compaction_result(result: CompactionResult) -> dict[str, Any]:
    """Return the result of a compaction as its record."""
    fields: dict[str, Any] = {
        "summary": result.summary,
        "firstKeptEntryId": result.first_kept_entry_id,
        "tokensBefore": result.tokens_before,
        "estimatedTokensAfter": result.estimated_tokens_after,
    }
    if result.usage is not None:
        fields["usage"] = result.usage
    if result.details is not None:
        fields["details"] = result.details
    return fields


def session_stats(stats: SessionStats) -> dict[str, Any]:
    """Return the statistics of a session as their record."""
    totals = stats.totals
    record: dict[str, Any] = {
        "sessionFile": _or_gone(stats.path),
        "sessionId": stats.id,
        "userMessages": totals.user_messages,
        "assistantMessages": totals.assistant_messages,
        "toolCalls": totals.tool_calls,
        "toolResults": totals.tool_results,
        "totalMessages": totals.messages,
        "tokens": {
            "input": totals.input,
            "output": totals.output,
            "cacheRead": totals.cache_read,
            "cacheWrite": totals.cache_write,
            "total": totals.tokens,
        },
        "cost": totals.cost,
    }
    if stats.context is not None:
        record["contextUsage"] = {
            "tokens": stats.context.tokens,
            "contextWindow": stats.context.window,
            "percent": stats.context.percent,
        }
    return {key: value for key, value in record.items() if value is not _GONE}


def command_record(command: Command) -> dict[str, Any]:
    """Return a command as its record."""
    info = command.info
    source = {"path": info.path, "source": info.source, "scope": info.scope, "origin": info.origin}
    if info.base_dir is not None:
        source["baseDir"] = info.base_dir
    described = {"description": command.description} if command.description else {}
    return {"name": command.name, **described, "source": command.source, "sourceInfo": source}


def tree_nodes(session: Session) -> msgspec.Raw:
    """Return the whole tree as JSON: ``[{entry, children, label?, labelTimestamp?}]``.

    Entries are their lines as stored. Written without recursion, since a chain may be 100,000 deep.
    """
    lines = {head.position: line for head, line in zip(session.heads, session.lines(session.heads), strict=True)}
    parts: list[bytes] = [b"["]
    stack: list[tuple[TreeNode | bytes, bool]] = [(b"]", False)]
    stack += _in_order(session.tree())
    while stack:
        node, follows = stack.pop()
        if isinstance(node, bytes):
            parts.append(node)
            continue
        parts += [b"," if follows else b"", b'{"entry":', lines[node.head.position], b',"children":[']
        label = {"label": node.label, "labelTimestamp": node.label_timestamp}
        known = encode({key: value for key, value in label.items() if value is not None})
        stack.append((b"]" + (b"," + known[1:] if known != b"{}" else b"}"), False))
        stack += _in_order(node.children)
    return msgspec.Raw(b"".join(parts))


def _in_order(nodes: Sequence[TreeNode]) -> list[tuple[TreeNode | bytes, bool]]:
    """Nodes for the top of a stack, the first on top, each with whether another stands before it."""
    return [(node, place > 0) for place, node in reversed(list(enumerate(nodes)))]


def _texts(messages: Sequence[BaseMessage]) -> list[str]:
    return [text_of(getattr(message, "content", "")) for message in messages]


def _or_gone(value: Any) -> Any:
    return _GONE if value is None else value
