"""The find tool: search for files by name. Source: the tools specification, section 7."""

from __future__ import annotations

from typing import Any, Final

from piolet.agent.tools import AgentTool, OnUpdate, ToolResult
from piolet.base.abort import AbortSignal
from piolet.harness.environments.base import Environment, FindQuery, InvalidPattern
from piolet.harness.tools.errors import ToolError, describe
from piolet.harness.tools.notices import count_argument, listing
from piolet.harness.tools.paths import existing_path, well_formed
from piolet.harness.tools.truncate import MAX_BYTES

DEFAULT_LIMIT: Final = 1000

_PARAMETERS: Final = {
    "type": "object",
    "properties": {
        "pattern": {"type": "string", "description": "Glob like *.py or src/**/test_*.py"},
        "path": {"type": "string", "description": "Directory to search (default: the working directory)"},
        "limit": {"type": "number", "description": f"Most results to return (default: {DEFAULT_LIMIT})"},
    },
    "required": ["pattern"],
}


def create_find_tool(environment: Environment) -> AgentTool:
    """Return the tool ``find`` over the files of `environment`."""

    async def execute(
        tool_call_id: str, arguments: dict[str, Any], signal: AbortSignal, on_update: OnUpdate
    ) -> ToolResult:
        target = await existing_path(environment, arguments.get("path", ""))
        limit = count_argument(arguments.get("limit"), DEFAULT_LIMIT)
        try:
            info = await environment.stat(target)
            if info is None:
                raise ToolError(f"Path not found: {target}")
            if info.kind != "directory":
                raise ToolError(f"Not a directory: {target}")
            found = await environment.find(FindQuery(well_formed(arguments["pattern"]), target, limit), signal)
        except InvalidPattern as error:
            raise ToolError(str(error)) from error
        except OSError as error:
            raise ToolError(describe(error, "search", target)) from error
        if not found.paths:
            return ToolResult.of_text("No files found matching pattern")
        if not found.limit_reached:
            return listing(found.paths, {})
        notice = f"{limit} results limit reached. Use limit={2 * limit} for more, or refine pattern"
        return listing(found.paths, {"resultLimitReached": limit}, limit_notice=notice)

    return AgentTool(
        name="find",
        label="find",
        description=(
            "Find files and directories by name with a glob pattern. Without a slash it is compared with names at any "
            "depth, with one with paths from the searched directory on; a pattern without capitals ignores case. What "
            f".gitignore names is left out, hidden files are not. At most {DEFAULT_LIMIT} results or "
            f"{MAX_BYTES // 1024} KB."
        ),
        parameters=_PARAMETERS,
        execute=execute,
        prompt_snippet="Find files by glob pattern, respecting .gitignore",
    )
