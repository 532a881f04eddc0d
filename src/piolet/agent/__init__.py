"""Floor 2: turn the crank. ``run_loop`` (a function, no state) and ``Agent`` (state, queues, one run at a time)."""

from typing import TYPE_CHECKING

from piolet.base.lazy import lazy_exports

if TYPE_CHECKING:
    from piolet.agent.agent import Agent as Agent
    from piolet.agent.agent import ClearedQueues as ClearedQueues
    from piolet.agent.agent import NothingToContinue as NothingToContinue
    from piolet.agent.batch import Block as Block
    from piolet.agent.batch import PendingCall as PendingCall
    from piolet.agent.events import AgentEnd as AgentEnd
    from piolet.agent.events import AgentEvent as AgentEvent
    from piolet.agent.events import AgentStart as AgentStart
    from piolet.agent.events import MessageEnd as MessageEnd
    from piolet.agent.events import MessageStart as MessageStart
    from piolet.agent.events import MessageUpdate as MessageUpdate
    from piolet.agent.events import QueueUpdate as QueueUpdate
    from piolet.agent.events import ToolExecutionEnd as ToolExecutionEnd
    from piolet.agent.events import ToolExecutionStart as ToolExecutionStart
    from piolet.agent.events import ToolExecutionUpdate as ToolExecutionUpdate
    from piolet.agent.events import TurnEnd as TurnEnd
    from piolet.agent.events import TurnStart as TurnStart
    from piolet.agent.function_tools import ToolCallId as ToolCallId
    from piolet.agent.function_tools import tool_from_function as tool_from_function
    from piolet.agent.loop import AgentContext as AgentContext
    from piolet.agent.loop import LoopConfig as LoopConfig
    from piolet.agent.loop import NextTurn as NextTurn
    from piolet.agent.loop import Turn as Turn
    from piolet.agent.loop import run_loop as run_loop
    from piolet.agent.running import Busy as Busy
    from piolet.agent.tools import AgentTool as AgentTool
    from piolet.agent.tools import OnUpdate as OnUpdate
    from piolet.agent.tools import ToolResult as ToolResult
    from piolet.base.abort import AbortSignal as AbortSignal

_MODULES = {
    "agent": ["Agent", "ClearedQueues", "NothingToContinue"],
    "batch": ["Block", "PendingCall"],
    "events": [
        "AgentEnd",
        "AgentEvent",
        "AgentStart",
        "MessageEnd",
        "MessageStart",
        "MessageUpdate",
        "QueueUpdate",
        "ToolExecutionEnd",
        "ToolExecutionStart",
        "ToolExecutionUpdate",
        "TurnEnd",
        "TurnStart",
    ],
    "function_tools": ["ToolCallId", "tool_from_function"],
    "loop": ["AgentContext", "LoopConfig", "NextTurn", "Turn", "run_loop"],
    "running": ["Busy"],
    "tools": ["AgentTool", "OnUpdate", "ToolResult"],
}

__all__ = [
    "AbortSignal",
    "Agent",
    "AgentContext",
    "AgentEnd",
    "AgentEvent",
    "AgentStart",
    "AgentTool",
    "Block",
    "Busy",
    "ClearedQueues",
    "LoopConfig",
    "MessageEnd",
    "MessageStart",
    "MessageUpdate",
    "NextTurn",
    "NothingToContinue",
    "OnUpdate",
    "PendingCall",
    "QueueUpdate",
    "ToolCallId",
    "ToolExecutionEnd",
    "ToolExecutionStart",
    "ToolExecutionUpdate",
    "ToolResult",
    "Turn",
    "TurnEnd",
    "TurnStart",
    "run_loop",
    "tool_from_function",
]

__getattr__ = lazy_exports(
    __name__,
    {name: f"{__name__}.{module}" for module, names in _MODULES.items() for name in names}
    | {"AbortSignal": "piolet.base.abort"},
)
