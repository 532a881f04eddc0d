"""Tools from typed Python functions: the signature and the docstring become what the model is told.

Source: the extensions specification, section 4, "From a typed function". Parameter types that a schema can hold are in
`function_schemas`.
"""

from __future__ import annotations

import asyncio
import builtins
import functools
import typing
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NewType, TypeAlias

from msgspec import Struct

from piolet.agent.function_schemas import Parameter, SchemaBuilder, UnsupportedType, convert
from piolet.agent.tools import AgentTool, OnUpdate, ToolResult
from piolet.base.abort import AbortSignal
from piolet.base.json import dumps, to_plain

if TYPE_CHECKING:
    import inspect

#: Annotates a parameter that gets the id of the call.
ToolCallId = NewType("ToolCallId", str)

#: Makes the value of an injected parameter for one call: ``(tool_call_id, signal, on_update)``.
Provider: TypeAlias = Callable[[str, AbortSignal, OnUpdate], Any]


def tool_from_function(
    function: Callable[..., Any], *, inject: Mapping[Any, Provider] | None = None, **overrides: Any
) -> AgentTool:
    """Return a tool that calls `function`, which may be async; a sync one runs in a worker thread.

    Its name is the tool's, its docstring up to ``Args:`` the description; ``Annotated[T, "text"]`` or the lines of
    ``Args:`` describe parameters, ``Annotated[int, msgspec.Meta(ge=1)]`` limits a number. A parameter with a default is
    optional. Parameters annotated `AbortSignal`, `OnUpdate`, `ToolCallId` or with a key of `inject` are given by the
    harness and not told to the model. A returned str is the text, a `ToolResult` is taken as it is, any other JSON
    value is shown as JSON and kept as structured content. `overrides`: fields of `AgentTool`. TypeError for a signature
    that cannot be told to a model.
    """
    name = getattr(function, "__name__", type(function).__name__)
    docstring = _Docstring.of(function)
    signature = _signature(function, name, inject or {})
    builder = SchemaBuilder()
    properties: dict[str, Any] = {}
    for parameter in signature.parameters:
        try:
            properties[parameter.name] = builder.parameter(parameter, docstring.parameters.get(parameter.name))
        except UnsupportedType as error:
            raise TypeError(f"Parameter {parameter.name!r} of the tool {name!r}: {error}") from error
    schema = builder.object_schema(properties, [p.name for p in signature.parameters if p.is_required])
    fields: dict[str, Any] = {"name": name, "label": name, "description": docstring.description, "parameters": schema}
    fields["execute"] = functools.partial(_execute, function, signature)
    return AgentTool(**{**fields, **overrides})


class _Signature(Struct, frozen=True):
    """`parameters` come from the model, `injected` from the harness; `positional`: names that are passed by place."""

    parameters: list[Parameter]
    injected: dict[str, Provider]
    positional: list[str]
    is_async: bool


async def _execute(
    function: Callable[..., Any],
    signature: _Signature,
    tool_call_id: str,
    arguments: dict[str, Any],
    signal: AbortSignal,
    on_update: OnUpdate,
) -> ToolResult:
    values = {p.name: convert(p.type, arguments[p.name]) for p in signature.parameters if p.name in arguments}
    values |= {name: provide(tool_call_id, signal, on_update) for name, provide in signature.injected.items()}
    places = [values.pop(name) for name in signature.positional if name in values]
    if signature.is_async:
        return _result(await function(*places, **values))
    return _result(await asyncio.to_thread(function, *places, **values))


def _result(value: Any) -> ToolResult:
    if isinstance(value, ToolResult):
        return value
    if isinstance(value, str):
        return ToolResult.of_text(value)
    result = ToolResult.of_text(dumps(value))
    result.structured_content = to_plain(value)
    return result


def _signature(function: Callable[..., Any], name: str, inject: Mapping[Any, Provider]) -> _Signature:
    import inspect

    providers: list[tuple[Any, Provider]] = [
        *inject.items(),
        (AbortSignal, lambda tool_call_id, signal, on_update: signal),
        (OnUpdate, lambda tool_call_id, signal, on_update: on_update),
        (ToolCallId, lambda tool_call_id, signal, on_update: tool_call_id),
    ]
    target = function if inspect.isroutine(function) else type(function).__call__
    try:
        hints = _hints(target)
    except NameError as error:
        raise TypeError(f"An annotation of the tool {name!r} cannot be resolved: {error}") from error
    result = _Signature([], {}, [], inspect.iscoroutinefunction(target))
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise TypeError(f"The tool {name!r} cannot take *{parameter.name}: a model names every argument")
        if parameter.kind == parameter.POSITIONAL_ONLY:
            result.positional.append(parameter.name)
        kind = hints.get(parameter.name, Any)
        provider = _provider(kind, providers)
        if provider is not None:
            result.injected[parameter.name] = provider
        else:
            result.parameters.append(_parameter(parameter, kind))
    return result


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the types of the parameters; those that are all plain names cost no evaluation."""
    known = getattr(function, "__globals__", {})
    hints: dict[str, Any] = {}
    for name, kind in getattr(function, "__annotations__", {}).items():
        if name == "return":
            continue
        hints[name] = known.get(kind, getattr(builtins, kind, kind)) if isinstance(kind, str) else kind
        if not isinstance(hints[name], type):
            return typing.get_type_hints(function, include_extras=True)
    return hints


def _parameter(parameter: inspect.Parameter, kind: Any) -> Parameter:
    if parameter.default is parameter.empty:
        return Parameter(parameter.name, kind, is_required=True)
    return Parameter(parameter.name, kind, is_required=False, default=parameter.default)


def _provider(kind: Any, providers: list[tuple[Any, Provider]]) -> Provider | None:
    """Return what gives values of a type, or of that type or None."""
    parts = typing.get_args(kind)
    parts = (kind, *parts) if type(None) in parts else (kind,)
    return next((provide for key, provide in providers if key in parts), None)


class _Docstring(Struct, frozen=True):
    description: str
    parameters: dict[str, str]

    @classmethod
    def of(cls, function: Callable[..., Any]) -> _Docstring:
        """Split a docstring in the style of ``Args:`` sections."""
        import inspect

        text = inspect.getdoc(function) or ""
        lines = text.split("\n")
        start = next(
            (i for i, line in enumerate(lines) if line.strip() in ("Args:", "Arguments:", "Parameters:")), None
        )
        if start is None:
            return cls(text.strip(), {})
        description = "\n".join(lines[:start]).strip()
        return cls(description, _argument_texts(lines[start + 1 :]))


def _argument_texts(lines: list[str]) -> dict[str, str]:
    """Read ``name: text`` and ``name (type): text``; deeper lines go on with the text, a line at the margin ends it."""
    texts: dict[str, str] = {}
    name, margin = "", None
    for line in lines:
        indent = len(line) - len(line.lstrip())
        if not line.strip():
            continue
        if indent == 0:
            break
        margin = indent if margin is None else margin
        head, colon, rest = line.strip().partition(":")
        if indent <= margin and colon:
            name = head.split("(")[0].strip().lstrip("*")
            texts[name] = rest.strip()
        elif name:
            texts[name] = f"{texts[name]} {line.strip()}".strip()
    return texts
