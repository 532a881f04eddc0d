"""The write tool: make or replace a file. Source: the tools specification, section 5."""

from __future__ import annotations

from typing import Any, Final

from piolet.agent.tools import AgentTool, OnUpdate, ToolResult
from piolet.base.abort import AbortSignal
from piolet.harness.environments.base import Environment
from piolet.harness.tools.errors import ToolError, describe
from piolet.harness.tools.mutation_queue import FileMutationQueue
from piolet.harness.tools.paths import path_to_write, well_formed

_PARAMETERS: Final = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "File to write, relative to the working directory or absolute"},
        "content": {"type": "string", "description": "The whole new content"},
    },
    "required": ["path", "content"],
}


def create_write_tool(environment: Environment, queue: FileMutationQueue | None = None) -> AgentTool:
    """Return the tool ``write``. `queue` is shared with the other tools that change files of `environment`."""
    turns = queue or FileMutationQueue(environment)

    async def execute(
        tool_call_id: str, arguments: dict[str, Any], signal: AbortSignal, on_update: OnUpdate
    ) -> ToolResult:
        path = arguments["path"]
        async with turns.turn(lambda: path_to_write(environment, path)) as target:
            signal.throw_if_aborted()
            try:
                await environment.write_bytes(target, well_formed(arguments["content"]).encode())
            except OSError as error:
                raise ToolError(describe(error, "open", target)) from error
        return ToolResult.of_text(f"Successfully wrote to {path}")

    return AgentTool(
        name="write",
        label="write",
        description=(
            "Write a file: makes it, with missing parent directories, or replaces all of its content. "
            "The content is written exactly as given."
        ),
        parameters=_PARAMETERS,
        execute=execute,
        prompt_snippet="Make a new file or replace a whole one",
        prompt_guidelines=("Use write for new files and complete rewrites only; change existing files with edit.",),
    )
