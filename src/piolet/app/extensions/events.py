"""The names of events that extensions can ask for (the extension specification, section 3)."""

from __future__ import annotations

from typing import Final

from piolet.app.extensions.results import RESULTS
from piolet.base.likeness import did_you_mean

OBSERVED: Final = frozenset(
    {
        *("session_start", "session_shutdown", "session_info_changed", "session_tree"),
        *("session_compact", "session_compact_failed"),
        *("agent_start", "agent_end", "agent_settled", "turn_start", "message_start", "message_update"),
        *("tool_execution_start", "tool_execution_update", "tool_execution_end"),
        *("before_provider_headers", "after_provider_response", "provider_stream_event"),
        *("model_select", "thinking_level_select", "ui_prompt_start", "ui_prompt_end"),
    }
)
ANSWERED: Final = frozenset({*RESULTS, "before_provider_request"})
#: Events of pi that never happen here; asking for them is no mistake.
NEVER: Final = frozenset({"mcp_servers_change", "cache_warming_decision"})


def check_event(name: str) -> None:
    """Raise ValueError for a name that no event has."""
    known = OBSERVED | ANSWERED | NEVER
    if name not in known:
        raise ValueError(f"There is no event {name!r}.{did_you_mean(name, known)}")
