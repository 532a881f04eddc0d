"""What a tool is for the loop, and what it gives back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Literal, TypeAlias

from msgspec import Struct, field

from piolet.base.abort import AbortSignal
from piolet.llm.messages import TextContent, Usage, UserBlock
from piolet.llm.model import ToolSpec


class ToolResult(Struct):
    """What a tool call gave.

    `content` goes to the model; `details` (JSON) to the session and the screen only, None means nothing to say.
    `terminate` ends the run after this batch when every call of the batch asks for it. `usage`: model work inside.
    """

    content: Sequence[UserBlock]
    details: Any = None
    is_error: bool = False
    terminate: bool = False
    structured_content: Any = None
    usage: Usage | None = None

    @classmethod
    def of_text(cls, text: str, *, details: Any = None, is_error: bool = False, terminate: bool = False) -> ToolResult:
        """Return a result of one text block."""
        return cls([TextContent(text)], details, is_error, terminate)


#: Reports progress: the whole partial result so far. Sync, may be called from any thread; calls may be coalesced.
OnUpdate: TypeAlias = Callable[[ToolResult], None]
#: ``execute(tool_call_id, arguments, signal, on_update)``. The arguments are its own copy, validated. What it raises
#: becomes an error result. When `signal` is set it has 2 s to end, then its task is cancelled.
Execute: TypeAlias = Callable[[str, dict[str, Any], AbortSignal, OnUpdate], Awaitable[ToolResult]]


class AgentTool(Struct, frozen=True):
    """A tool. `parameters` is a JSON Schema of type object.

    `prepare_arguments` may repair raw arguments (any JSON value) before coercion and validation. One tool that is
    "sequential" makes its whole batch so. `prompt_snippet` (a line of the tools list) and `prompt_guidelines` are for
    whoever builds the prompt.
    """

    name: str
    description: str
    parameters: dict[str, Any]
    execute: Execute
    label: str = ""
    execution_mode: Literal["parallel", "sequential"] | None = None
    prepare_arguments: Callable[[Any], Any] | None = None
    prompt_snippet: str | None = None
    prompt_guidelines: Sequence[str] = field(default=())
    constrained_sampling: Any = None

    def spec(self) -> ToolSpec:
        """Return what the model is told of this tool."""
        return ToolSpec(self.name, self.description, self.parameters, self.constrained_sampling)
