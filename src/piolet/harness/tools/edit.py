"""The edit tool: replace pieces of a file, all or none. Source: the tools specification, section 4."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

from msgspec import Struct

from piolet.agent.tools import AgentTool, OnUpdate, ToolResult
from piolet.base.abort import AbortSignal
from piolet.harness.environments.base import Environment
from piolet.harness.tools.errors import ToolError, error_code
from piolet.harness.tools.matching import Found, Haystack, Occurrences
from piolet.harness.tools.mutation_queue import FileMutationQueue
from piolet.harness.tools.paths import existing_path, well_formed
from piolet.harness.tools.text_file import TextFile, UnsuitableText, to_lf
from piolet.harness.tools.textdiff import TextDiff, text_diff
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


class Edit(Struct, frozen=True):
    """One replacement as asked for, in LF form. `name` is what messages call its old text."""

    old: str
    new: str
    name: str


class EditOutcome(Struct, frozen=True):
    """The new bytes of the file, and what changed."""

    data: bytes
    diff: TextDiff


def create_edit_tool(environment: Environment, queue: FileMutationQueue | None = None) -> AgentTool:
    """Return the tool ``edit``. `queue` is shared with the other tools that change files of `environment`."""
    turns = queue or FileMutationQueue(environment)

    async def execute(
        tool_call_id: str, arguments: dict[str, Any], signal: AbortSignal, on_update: OnUpdate
    ) -> ToolResult:
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
            edits = json.loads(text)
        except ValueError:
            pass
        else:
            result["edits"] = edits
    if isinstance(result.get("oldText"), str) and isinstance(result.get("newText"), str):
        single = {"oldText": result.pop("oldText"), "newText": result.pop("newText")}
        edits = result.get("edits") or []
        result["edits"] = [*(edits if isinstance(edits, list) else [edits]), single]
    return result


def apply_edits(path: str, data: bytes, edits: Sequence[Mapping[str, str]]) -> EditOutcome:
    """Return `data` with the edits made. `ToolError`, for the model, if any of them cannot be made; `path` names it."""
    wanted = _checked(path, edits)
    try:
        file = TextFile(data)
        found = _located(path, file, wanted)
        replacements = [place.replacement(edit.new) for place, edit in zip(found, wanted, strict=True)]
        changed = file.replaced(replacements)
    except UnsuitableText as error:
        raise ToolError(f"Could not edit file: {path}: {error}.") from error
    if changed == data:
        raise ToolError(f"No changes made to {path}. What would be written is what the file holds already.")
    return EditOutcome(changed, text_diff(path, file.text, replacements))


async def _read(environment: Environment, path: str, target: str) -> bytes:
    try:
        info = await environment.stat(target)
        if info is not None and info.kind == "directory":
            raise ToolError("EISDIR: illegal operation on a directory, read")
        return await environment.read_bytes(target)
    except OSError as error:
        raise ToolError(f"Could not edit file: {path}. Error code: {error_code(error)}.") from error


def _checked(path: str, edits: Sequence[Mapping[str, str]]) -> list[Edit]:
    if not edits:
        raise ToolError("Edit tool input is invalid. There must be at least one edit.")
    wanted = []
    for index, edit in enumerate(edits):
        name = f"edits[{index}]" if len(edits) > 1 else ""
        old, new = (to_lf(well_formed(edit[key])) for key in ("oldText", "newText"))
        if not old:
            raise ToolError(f"{name + '.' if name else ''}oldText must not be empty in {path}.")
        wanted.append(Edit(old, new, name))
    return wanted


def _located(path: str, file: TextFile, wanted: Sequence[Edit]) -> list[Found]:
    haystack = Haystack(file.text)
    found = []
    for edit in wanted:
        try:
            found.append(haystack.find(edit.old))
        except Occurrences as error:
            raise ToolError(_not_once(path, edit.name, error.count)) from None
    order = sorted(range(len(found)), key=lambda i: (found[i].start, found[i].end))
    for one, other in pairwise(order):
        if found[other].start < found[one].end:
            first, second = sorted((one, other))
            raise ToolError(f"edits[{first}] and edits[{second}] overlap in {path}. Join them, or choose other places.")
    return found


def _not_once(path: str, name: str, count: int) -> str:
    if count == 0:
        return (
            f"Could not find {name or 'the exact text'} in {path}. "
            "oldText must be in the file as written, with all blanks, indentation and line ends."
        )
    return (
        f"Found {count} occurrences of {name or 'the text'} in {path}. "
        "oldText must stand there only once: add text around it."
    )
