"""Calls that a tool makes of other tools in the midst of its own call. They leave no trace in the conversation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from piolet.agent.batch import AfterToolCall, BeforeToolCall, run_batch
from piolet.agent.events import AgentEvent, ToolExecutionEnd, ToolExecutionStart, ToolExecutionUpdate
from piolet.agent.tools import OnUpdate, ToolResult
from piolet.base.abort import AbortSignal
from piolet.base.ids import now_ms, uuid7
from piolet.harness.bridge import HookBridge
from piolet.harness.hooks import Hook
from piolet.llm.messages import NO_USAGE, AssistantMessage, ToolCall, ToolResultMessage

if TYPE_CHECKING:
    from piolet.harness.harness import AgentHarness


class _Config(Struct, frozen=True):
    signal: AbortSignal
    before_tool_call: BeforeToolCall | None
    after_tool_call: AfterToolCall | None
    tool_execution: str = "parallel"


async def execute_tool(
    harness: AgentHarness,
    name: str,
    arguments: Mapping[str, Any],
    *,
    parent: str,
    signal: AbortSignal,
    on_update: OnUpdate | None = None,
) -> ToolResult:
    """Run an active tool of `harness` for the call `parent`, with validation and the hooks around it.

    Never raises for what the tool does: a failure is an error result. Handlers of the hooks are told the `parent`.
    """
    results: list[ToolResult] = []

    async def emit(event: AgentEvent) -> None:
        match event:
            case ToolExecutionUpdate(partial_result=partial) if on_update is not None:
                on_update(partial)
            case ToolExecutionEnd(result=result):
                results.append(result)
            case _:
                pass
        if isinstance(event, ToolExecutionStart | ToolExecutionUpdate | ToolExecutionEnd):
            await harness.hooks.run(Hook(event.type), replace(event, parent_tool_call_id=parent), signal)

    async def keep_out(message: ToolResultMessage) -> ToolResultMessage:
        return message

    bridge = HookBridge(harness.hooks, lambda: signal, parent)
    call = ToolCall(f"{parent}/{uuid7()}", name, dict(arguments))
    message = AssistantMessage([call], "", "", "", NO_USAGE, "toolUse", now_ms())
    active = [tool for tool in harness.tools if tool.name in harness.active_tools]
    await run_batch(message, active, _Config(signal, bridge.before_tool_call, bridge.after_tool_call), emit, keep_out)
    return results[0]
