"""The grep tool: search the contents of files. Source: the tools specification, section 6."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from piolet.agent.tools import AgentTool, OnUpdate, ToolResult
from piolet.base.abort import AbortSignal
from piolet.harness.environments.base import Environment, GrepLine, GrepQuery, InvalidPattern
from piolet.harness.tools.errors import ToolError, describe
from piolet.harness.tools.notices import count_argument, listing
from piolet.harness.tools.paths import existing_path, well_formed
from piolet.harness.tools.truncate import MAX_BYTES

DEFAULT_LIMIT: Final = 100
#: UTF-16 units of a line that are shown.
MAX_LINE_UNITS: Final = 500

_PARAMETERS: Final = {
    "type": "object",
    "properties": {
        "pattern": {"type": "string", "description": "Regular expression in the syntax of ripgrep, or plain text"},
        "path": {"type": "string", "description": "File or directory to search (default: the working directory)"},
        "glob": {"type": "string", "description": "Only files like *.py or src/**/*.ts; !*.md leaves out"},
        "ignoreCase": {"type": "boolean", "description": "Match upper and lower case alike (default: false)"},
        "literal": {"type": "boolean", "description": "Take the pattern as plain text (default: false)"},
        "context": {"type": "number", "description": "Lines to show before and after each match (default: 0)"},
        "limit": {"type": "number", "description": f"Most matching lines to return (default: {DEFAULT_LIMIT})"},
    },
    "required": ["pattern"],
}


def create_grep_tool(environment: Environment) -> AgentTool:
    """Return the tool ``grep`` over the files of `environment`."""

    async def execute(
        tool_call_id: str, arguments: dict[str, Any], signal: AbortSignal, on_update: OnUpdate
    ) -> ToolResult:
        target = await existing_path(environment, arguments.get("path", ""))
        limit = count_argument(arguments.get("limit"), DEFAULT_LIMIT)
        try:
            info = await environment.stat(target)
            if info is None:
                raise ToolError(f"Path not found: {target}")
            if info.kind not in ("file", "directory"):
                raise ToolError(f"Neither a file nor a directory but a {info.kind}: {target}")
            query = GrepQuery(
                pattern=well_formed(arguments["pattern"]),
                path=target,
                glob=well_formed(arguments["glob"]) if arguments.get("glob") else None,
                ignore_case=arguments.get("ignoreCase", False),
                literal=arguments.get("literal", False),
                context=max(0, int(arguments.get("context", 0))),
                limit=limit,
            )
            found = await environment.grep(query, signal)
        except InvalidPattern as error:
            raise ToolError(str(error)) from error
        except OSError as error:
            raise ToolError(describe(error, "search", target)) from error
        if not found.lines:
            return ToolResult.of_text("No matches found")
        return _result(found.lines, limit if found.limit_reached else None)

    return AgentTool(
        name="grep",
        label="grep",
        description=(
            "Search the contents of files for a regular expression (no look-around, no back-references); gives "
            "PATH:LINE: TEXT for each matching line. Files that .gitignore names are left out, hidden ones are not. "
            f"At most {DEFAULT_LIMIT} lines or {MAX_BYTES // 1024} KB; long lines are cut to {MAX_LINE_UNITS}."
        ),
        parameters=_PARAMETERS,
        execute=execute,
        prompt_snippet="Search file contents by regular expression, respecting .gitignore",
    )


def _result(lines: Sequence[GrepLine], limit: int | None) -> ToolResult:
    """Return the lines as text; `limit`: it was reached, and there is more."""
    texts = [_shortened(line.text) for line in lines]
    details: dict[str, Any] = {}
    limit_notice = cut_notice = None
    if limit is not None:
        details["matchLimitReached"] = limit
        limit_notice = f"{limit} matches limit reached. Use limit={2 * limit} for more, or refine pattern"
    if any(was_cut for _, was_cut in texts):
        details["linesTruncated"] = True
        cut_notice = f"Some lines truncated to {MAX_LINE_UNITS} chars. Use read tool to see full lines"
    shown = [_shown(line, text) for line, (text, _) in zip(lines, texts, strict=True)]
    return listing(shown, details, limit_notice=limit_notice, last_notice=cut_notice)


def _shown(line: GrepLine, text: str) -> str:
    return f"{line.path}:{line.number}: {text}" if line.is_match else f"{line.path}-{line.number}- {text}"


def _shortened(text: str) -> tuple[str, bool]:
    """Return `text` cut to the limit in UTF-16 units, never within a character, and whether it was cut."""
    if len(text) * 2 <= MAX_LINE_UNITS:
        return text, False
    units = text.encode("utf-16-le", "surrogatepass")
    if len(units) <= 2 * MAX_LINE_UNITS:
        return text, False
    kept = units[: 2 * MAX_LINE_UNITS].decode("utf-16-le", "ignore")
    return f"{kept}... [truncated]", True
