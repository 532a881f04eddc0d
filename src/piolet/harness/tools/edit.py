"""The edit tool: replace pieces of a file, all or none. Source: the tools specification, section 4."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from piolet.agent.tools import AgentTool, OnUpdate, ToolResult
from piolet.base.abort import AbortSignal
from piolet.base.json import loads
from piolet.harness.environments.base import Environment
from piolet.harness.tools.errors import ToolError, error_code
from piolet.harness.tools.mutation_queue import FileMutationQueue
from piolet.harness.tools.paths import existing_path
from piolet.llm.messages import TextContent

_PARAMETERS: Final = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "File to change, relative to the working directory or absolute"},
        "edits": {
            "type": "array",
            "description": "Replacements, each looked up in the file as it is before the call; they must not overlap",
            "items": {
                "type": "object",
                "properties": {
                    "oldText": {"type": "string", "description": "Text that stands exactly once in the file"},
                    "newText": {"type": "string", "description": "What to put in its place"},
                },
                "required": ["oldText", "newText"],
            },
        },
    },
    "required": ["path", "edits"],
}


def create_edit_tool(environment: Environment, queue: FileMutationQueue | None = None) -> AgentTool:
    """Return the tool ``edit``. `queue` is shared with the other tools that change files of `environment`."""
    turns = queue or FileMutationQueue(environment)

    async def execute(
        tool_call_id: str, arguments: dict[str, Any], signal: AbortSignal, on_update: OnUpdate
    ) -> ToolResult:
        from piolet.harness.tools.edits import apply_edits

        path, edits = arguments["path"], arguments["edits"]
        async with turns.turn(lambda: existing_path(environment, path)) as target:
            signal.throw_if_aborted()
            data = await _read(environment, path, target)
            outcome = await asyncio.to_thread(apply_edits, path, data, edits)
            signal.throw_if_aborted()
            try:
                await environment.write_bytes(target, outcome.data)
            except OSError as error:
                raise ToolError(f"Could not edit file: {path}. Error code: {error_code(error)}.") from error
        diff = outcome.diff
        return ToolResult(
            [TextContent(f"Successfully replaced {len(edits)} block(s) in {path}.")],
            {"diff": diff.diff, "patch": diff.patch, "firstChangedLine": diff.first_changed_line},
        )

    return AgentTool(
        name="edit",
        label="edit",
        description=(
            "Change a file by replacing pieces of text. Each oldText must stand exactly once in the file, blanks and "
            "indentation included. All edits of a call are looked up in the file as it was before, and all are made "
            "or none. Line endings, encoding and everything else in the file stay as they are."
        ),
        parameters=_PARAMETERS,
        execute=execute,
        prepare_arguments=prepare_edit_arguments,
        prompt_snippet="Replace pieces of a file exactly, several in one call",
        prompt_guidelines=(
            "Put all changes of one file into one edit call, as separate edits.",
            "Keep oldText as short as it can be while it stands only once in the file.",
        ),
    )


def prepare_edit_arguments(arguments: Any) -> Any:
    """Return the arguments in their present form; accepted are also edits as JSON text, and the older single edit."""
    if not isinstance(arguments, Mapping):
        return arguments
    result = dict(arguments)
    if isinstance(text := result.get("edits"), str):
        try:
            edits = loads(text)
        except ValueError:
            pass
        else:
            result["edits"] = edits
    if isinstance(result.get("oldText"), str) and isinstance(result.get("newText"), str):
        single = {"oldText": result.pop("oldText"), "newText": result.pop("newText")}
        edits = result.get("edits") or []
        result["edits"] = [*(edits if isinstance(edits, list) else [edits]), single]
    return result


async def _read(environment: Environment, path: str, target: str) -> bytes:
    try:
        info = await environment.stat(target)
        if info is not None and info.kind == "directory":
            raise ToolError("EISDIR: illegal operation on a directory, read")
        return await environment.read_bytes(target)
    except OSError as error:
        raise ToolError(f"Could not edit file: {path}. Error code: {error_code(error)}.") from error
