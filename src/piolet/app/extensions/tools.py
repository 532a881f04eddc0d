"""Tools of extensions: from a definition or a typed function to what the harness runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, Literal

import msgspec

from piolet.agent.tools import AgentTool, OnUpdate, ToolResult
from piolet.app.extensions.contexts import ToolContext
from piolet.app.extensions.definitions import ToolDefinition
from piolet.app.extensions.errors import no_exit
from piolet.app.extensions.fitting import check_fit
from piolet.app.options import ToolSelection
from piolet.base.abort import AbortSignal

MakeContext = Callable[[str, AbortSignal], ToolContext]

#: Fields that a tool of the harness shares with a definition.
_SHARED = (
    *("name", "description", "parameters", "label", "execution_mode", "prepare_arguments", "prompt_snippet"),
    *("prompt_guidelines", "constrained_sampling"),
)

_KINDS: Mapping[str, Any] = {
    "name": str,
    "description": str,
    "parameters": dict[str, Any],
    "label": str,
    "prompt_snippet": str | None,
    "prompt_guidelines": Sequence[str],
    "execution_mode": Literal["parallel", "sequential"] | None,
    "default_active": bool,
    "output_schema": dict[str, Any] | None,
    "render_shell": Literal["default", "self"],
}


def define(
    tool: ToolDefinition | Callable[..., Any], overrides: Mapping[str, Any], context: MakeContext
) -> ToolDefinition:
    """Return the definition of a tool. TypeError for what makes none."""
    if not isinstance(tool, ToolDefinition):
        if not callable(tool):
            raise TypeError(f"register_tool takes a ToolDefinition or a function, not {type(tool).__name__}")
        tool = _from_function(tool, context)
    unknown = overrides.keys() - set(ToolDefinition.__struct_fields__)
    if unknown:
        raise TypeError(f"ToolDefinition has no {', '.join(sorted(unknown))}")
    tool = msgspec.structs.replace(tool, **overrides)
    _check(tool)
    return tool


def _check(tool: ToolDefinition) -> None:
    """Raise TypeError for what no tool can have: nothing else looks before a provider refuses the request."""
    if not tool.name or not isinstance(tool.parameters, dict) or tool.parameters.get("type", "object") != "object":
        raise TypeError("A tool needs a name, and parameters that are a JSON Schema of type object")
    for field, kind in _KINDS.items():
        check_fit(getattr(tool, field), kind, f"{field} of the tool '{tool.name}'")
    for field in ("execute", "prepare_arguments", "render_call", "render_result"):
        value = getattr(tool, field)
        if not callable(value) and (value is not None or field == "execute"):
            raise TypeError(f"{field} of the tool '{tool.name}' must be a function, not {type(value).__name__}")
    wanted = tool.constrained_sampling
    if wanted not in (None, False) and not (isinstance(wanted, dict) and _samples(wanted)):
        forms = '{"type": "json_schema", "strict": "prefer" or "require"} or {"type": "grammar", "variants": {...}}'
        raise TypeError(f"constrained_sampling of the tool '{tool.name}' must be {forms}, not {wanted!r}")


def _samples(wanted: dict[str, Any]) -> bool:
    """Whether it is a form of constrained sampling. Source: providers, section 1."""
    if wanted.get("type") == "json_schema":
        return wanted.get("strict", "prefer") in ("prefer", "require")
    return wanted.get("type") == "grammar" and isinstance(wanted.get("variants"), dict)


def agent_tool(definition: ToolDefinition, context: MakeContext) -> AgentTool:
    """Return what the harness runs for `definition`."""

    async def execute(call_id: str, arguments: dict[str, Any], signal: AbortSignal, on_update: OnUpdate) -> ToolResult:
        def update(partial: ToolResult) -> None:
            check_fit(partial, ToolResult, "ToolResult")
            on_update(partial)

        with no_exit():
            result = await definition.execute(call_id, arguments, signal, update, context(call_id, signal))
        check_fit(result, ToolResult, "ToolResult")
        if definition.output_schema is not None and not result.is_error:
            _check_output(definition, result)
        return result

    return AgentTool(execute=execute, **{name: getattr(definition, name) for name in _SHARED})


def is_allowed(name: str, selection: ToolSelection) -> bool:
    """Whether the user lets a tool exist at all: a list of names leaves no others, a denied name is gone."""
    if selection.none or any(fnmatchcase(name, pattern) for pattern in selection.exclude):
        return False
    if selection.only is None or all(item[:1] in ("+", "-") for item in selection.only):
        return True
    return any(fnmatchcase(name, pattern) for pattern in selection.only)


def overlaid(built_in: Sequence[AgentTool], added: Sequence[AgentTool]) -> list[AgentTool]:
    """Return all tools, the built-in ones first; one of the same name stands in place of a built-in one."""
    tools = {tool.name: tool for tool in built_in}
    tools |= {tool.name: tool for tool in added}
    return list(tools.values())


def _from_function(function: Callable[..., Any], context: MakeContext) -> ToolDefinition:
    from piolet.agent.function_tools import tool_from_function

    provide = {ToolContext: lambda call_id, signal, _: context(call_id, signal)}
    return definition_of(tool_from_function(function, inject=provide))


def definition_of(tool: AgentTool) -> ToolDefinition:
    """Return a tool of the harness as a definition."""

    async def execute(
        call_id: str, arguments: dict[str, Any], signal: AbortSignal, on_update: OnUpdate, ctx: ToolContext
    ) -> ToolResult:
        return await tool.execute(call_id, arguments, signal, on_update)

    return ToolDefinition(execute=execute, **{name: getattr(tool, name) for name in _SHARED})


def _check_output(definition: ToolDefinition, result: ToolResult) -> None:
    """Raise ValueError if the structured content of a result is not what the definition promises."""
    from piolet.agent.arguments import InvalidArguments, check

    promised = AgentTool(definition.name, "", definition.output_schema or {}, lambda *_: None)  # type: ignore[arg-type]
    try:
        result.structured_content = check(promised, result.structured_content)
    except InvalidArguments as error:
        raise ValueError(f"The output does not fit the output_schema. {error}") from None
