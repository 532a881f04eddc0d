"""The ls tool: what is in a directory. Source: the tools specification, section 8."""

from __future__ import annotations

from typing import Any, Final

from piolet.agent.tools import AgentTool, OnUpdate, ToolResult
from piolet.base.abort import AbortSignal
from piolet.harness.environments.base import DirectoryEntry, Environment
from piolet.harness.tools.errors import ToolError, describe
from piolet.harness.tools.notices import count_argument, listing
from piolet.harness.tools.paths import existing_path
from piolet.harness.tools.truncate import MAX_BYTES

DEFAULT_LIMIT: Final = 500

_PARAMETERS: Final = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "Directory to list (default: the working directory)"},
        "limit": {"type": "number", "description": f"Most entries to return (default: {DEFAULT_LIMIT})"},
    },
    "required": [],
}


def create_ls_tool(environment: Environment) -> AgentTool:
    """Return the tool ``ls`` over the files of `environment`."""

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
            entries = await environment.list_directory(target)
        except OSError as error:
            raise ToolError(describe(error, "list", target)) from error
        names = [_shown(entry) for entry in sorted(entries, key=lambda entry: (entry.name.lower(), entry.name))]
        if not names:
            return ToolResult.of_text("(empty directory)")
        if len(names) <= limit:
            return listing(names, {})
        notice = f"{limit} entries limit reached. Use limit={2 * limit} for more"
        return listing(names[:limit], {"entryLimitReached": limit}, limit_notice=notice)

    return AgentTool(
        name="ls",
        label="ls",
        description=(
            "List a directory: one name a line, sorted, hidden ones too, directories with a final slash. "
            f"At most {DEFAULT_LIMIT} entries or {MAX_BYTES // 1024} KB."
        ),
        parameters=_PARAMETERS,
        execute=execute,
        prompt_snippet="List what is in a directory",
    )


def _shown(entry: DirectoryEntry) -> str:
    is_directory = "directory" in (entry.kind, entry.target)
    return f"{entry.name}/" if is_directory else entry.name
