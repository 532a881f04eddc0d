"""Floor 2: turn the crank. ``run_loop`` (a function, no state) and ``Agent`` (state, queues, one run at a time)."""

from typing import TYPE_CHECKING

from piolet.base.lazy import lazy_exports

if TYPE_CHECKING:
    from piolet.agent.agent import (
        Agent as Agent,
    )
    from piolet.agent.agent import (
        ClearedQueues as ClearedQueues,
    )
    from piolet.agent.agent import (
        NothingToContinue as NothingToContinue,
    )
    from piolet.agent.batch import Block as Block
    from piolet.agent.batch import PendingCall as PendingCall
    from piolet.agent.function_tools import tool_from_function as tool_from_function
    from piolet.agent.loop import (
        AgentContext as AgentContext,
    )
    from piolet.agent.loop import (
        LoopConfig as LoopConfig,
    )
    from piolet.agent.loop import (
        NextTurn as NextTurn,
    )
    from piolet.agent.loop import (
        Turn as Turn,
    )
    from piolet.agent.loop import (
        run_loop as run_loop,
    )
    from piolet.agent.running import Busy as Busy
    from piolet.agent.tools import AgentTool as AgentTool
    from piolet.agent.tools import OnUpdate as OnUpdate
    from piolet.agent.tools import ToolResult as ToolResult

__all__ = [
    "Agent",
    "AgentContext",
    "AgentTool",
    "Block",
    "Busy",
    "ClearedQueues",
    "LoopConfig",
    "NextTurn",
    "NothingToContinue",
    "OnUpdate",
    "PendingCall",
    "ToolResult",
    "Turn",
    "run_loop",
    "tool_from_function",
]

__getattr__ = lazy_exports(
    __name__,
    {
        "Agent": "piolet.agent.agent",
        "AgentContext": "piolet.agent.loop",
        "AgentTool": "piolet.agent.tools",
        "Block": "piolet.agent.batch",
        "Busy": "piolet.agent.running",
        "ClearedQueues": "piolet.agent.agent",
        "LoopConfig": "piolet.agent.loop",
        "NextTurn": "piolet.agent.loop",
        "NothingToContinue": "piolet.agent.agent",
        "OnUpdate": "piolet.agent.tools",
        "PendingCall": "piolet.agent.batch",
        "ToolResult": "piolet.agent.tools",
        "Turn": "piolet.agent.loop",
        "run_loop": "piolet.agent.loop",
        "tool_from_function": "piolet.agent.function_tools",
    },
)
