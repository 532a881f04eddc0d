"""The arguments of a tool call: coerced by a written table, then validated against the tool's JSON Schema.

Source: the tools specification, section 1. What is wanted, what was given, what it becomes:

    number, integer   text of a number, blanks around it allowed      the number
    number, integer   true, false                                     1, 0
    integer           a number without fraction (2.0)                 the integer
    string            a number, true, false                           its JSON text
    boolean           "true", "false", 1, 0                           true, false
    array             anything but an array                           an array of that one value
    not required      null; blank text where no string is wanted      absent

All else stays as it is and fails. What the schema allows as given is never coerced. Arguments that the schema does not
name are kept, or dropped where ``additionalProperties`` is false: they are never an error.
"""

from __future__ import annotations

import copy
import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from msgspec import Struct, field

from piolet.agent.tools import AgentTool
from piolet.base.json import dumps, number
from piolet.base.regex import compiled_later
from piolet.llm.messages import ToolCall

_CHECKED: Final = {"type", "properties", "required", "items", "enum", "const", "additionalProperties", "anyOf", "$ref"}
_SILENT: Final = {"title", "description", "default", "examples", "$schema", "$id", "$comment", "$defs", "definitions"}
_NUMBER: Final = compiled_later(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_SURROGATE: Final = compiled_later("[\ud800-\udfff]")
_ABSENT: Final = object()


class InvalidArguments(ValueError):
    """Arguments that the tool cannot take. The text is for the model: every problem, and what was received."""


def prepare(tool: AgentTool, call: ToolCall) -> dict[str, Any]:
    """Return the arguments of `call` as `tool` wants them, a copy that shares nothing with the message.

    `InvalidArguments` if they were no JSON object (its text then is in `ToolCall.arguments_error`) or do not fit.
    """
    if call.arguments_error is not None:
        raise InvalidArguments(f'Invalid arguments for tool "{tool.name}": {call.arguments_error}')
    given = copy.deepcopy(call.arguments)
    if tool.prepare_arguments is not None:
        given = tool.prepare_arguments(given)
    return check(tool, given, received=call.arguments)


def check(tool: AgentTool, arguments: Any, *, received: Any = _ABSENT) -> dict[str, Any]:
    """Return `arguments` coerced and validated, without the tool's own `prepare_arguments`.

    `received`: what the message of an `InvalidArguments` shows; default: `arguments`.
    """
    form = _Form(tool.parameters)
    result = form.coerce(tool.parameters, arguments, "")
    if not form.problems and form.needs_full_validator(tool.parameters):
        form.problems.extend(_full_validation(tool.parameters, result))
    if not form.problems and not isinstance(result, dict):
        form.problems.append(("", f"expected object, got {_type_name(result)}"))
    if form.problems:
        lines = "\n".join(f"  - {path or 'arguments'}: {problem}" for path, problem in form.problems)
        shown = _indented(arguments if received is _ABSENT else received)
        raise InvalidArguments(f'Validation failed for tool "{tool.name}":\n{lines}\n\nReceived arguments:\n{shown}')
    assert isinstance(result, dict)
    return result


class _Form(Struct):
    """One pass over a schema and a value: coerces, and collects ``(path, problem)`` in the order of the schema."""

    root: Mapping[str, Any]
    problems: list[tuple[str, str]] = field(default_factory=list)

    def coerce(self, schema: Any, value: Any, path: str) -> Any:
        schema = self._resolve(schema)
        if not isinstance(schema, Mapping):
            return copy.deepcopy(value)
        if "anyOf" in schema:
            return self._any_of(schema["anyOf"], value, path)
        types = _types(schema)
        if types and not any(_is(value, name) for name in types):
            value = _convert(value, types)
            if not any(_is(value, name) for name in types):
                self.problems.append((path, f"expected {' or '.join(types)}, got {_type_name(value)}"))
                return value
        if isinstance(value, float) and "integer" in types and "number" not in types:
            value = int(value)
        choices = [schema["const"]] if "const" in schema else schema.get("enum")
        if choices is not None and not any(_same(value, choice) for choice in choices):
            self.problems.append((path, f"must be one of {', '.join(dumps(choice) for choice in choices)}"))
        if isinstance(value, dict):
            return self._object(schema, value, path)
        if isinstance(value, list):
            items = schema.get("items", True)
            return [self.coerce(items, item, _join(path, str(i))) for i, item in enumerate(value)]
        return value

    def _object(self, schema: Mapping[str, Any], value: dict[str, Any], path: str) -> dict[str, Any]:
        properties: Mapping[str, Any] = schema.get("properties", {})
        required = schema.get("required", ())
        result: dict[str, Any] = {}
        for name, part in properties.items():
            if name not in value or (name not in required and self._means_absent(part, value[name])):
                if name in required:
                    self.problems.append((_join(path, name), "missing"))
                continue
            result[name] = self.coerce(part, value[name], _join(path, name))
        self.problems.extend((_join(path, n), "missing") for n in required if n not in properties and n not in value)
        other = schema.get("additionalProperties", True)
        if other is not False:
            for name in value.keys() - properties.keys():
                result[name] = self.coerce(other, value[name], _join(path, name))
        return {name: result[name] for name in value if name in result}

    def _any_of(self, branches: Any, value: Any, path: str) -> Any:
        """Take the first branch that allows the value as it is, else the first that allows it coerced."""
        trials = [_Form(self.root) for _ in branches]
        results = [trial.coerce(branch, value, path) for trial, branch in zip(trials, branches, strict=True)]
        fitting = [result for trial, result in zip(trials, results, strict=True) if not trial.problems]
        if fitting:
            return next((result for result in fitting if _same(result, value)), fitting[0])
        if trials:
            self.problems.extend(min(trials, key=lambda trial: len(trial.problems)).problems)
        return value

    def _means_absent(self, schema: Any, value: Any) -> bool:
        if value is not None and not (isinstance(value, str) and not value.strip()):
            return False
        trial = _Form(self.root)
        as_given = trial.coerce(schema, value, "")
        return bool(trial.problems) or not _same(as_given, value)

    def _resolve(self, schema: Any) -> Any:
        seen = 0
        while isinstance(schema, Mapping) and isinstance(reference := schema.get("$ref"), str) and seen < 100:
            target: Any = self.root
            for step in reference.removeprefix("#").split("/")[1:]:
                target = target.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(target, Mapping) else None
            if target is None:
                return True
            schema, seen = target, seen + 1
        return schema

    def needs_full_validator(self, schema: Any) -> bool:
        """True if `schema` uses a keyword that this module does not check."""
        if not isinstance(schema, Mapping):
            return False
        if schema.keys() - _CHECKED - _SILENT or isinstance(schema.get("items"), list):
            return True
        parts: list[Any] = [schema.get("items"), schema.get("additionalProperties"), *schema.get("anyOf", ())]
        for group in ("properties", "$defs", "definitions"):
            parts.extend(schema.get(group, {}).values())
        return any(self.needs_full_validator(part) for part in parts)


def _full_validation(schema: Mapping[str, Any], value: Any) -> Iterator[tuple[str, str]]:
    import fastjsonschema

    try:
        validate = fastjsonschema.compile(dict(schema), use_default=False, use_formats=False, fast_fail=False)
    except Exception as invalid:  # it compiles whatever the schema holds, and fails in many ways
        yield "", f"the tool's own schema is not valid: {invalid}"
        return
    try:
        validate(value)
    except fastjsonschema.JsonSchemaValuesException as invalid:
        for error in invalid.errors:
            yield ".".join(error.path[1:]), error.message.removeprefix(f"{error.name} ")


def _types(schema: Mapping[str, Any]) -> list[str]:
    wanted = schema.get("type", [])
    return [wanted] if isinstance(wanted, str) else list(wanted)


def _is(value: Any, name: str) -> bool:
    match name:
        case "integer":
            return _type_name(value) == "integer" or (isinstance(value, float) and value.is_integer())
        case "number":
            return _type_name(value) in ("integer", "number")
        case _:
            return _type_name(value) == name


def _convert(value: Any, types: list[str]) -> Any:
    """Return `value` as one of `types` by the table above; unchanged where the table has nothing."""
    for name in types:
        match name, value:
            case (("number" | "integer"), bool()):
                return int(value)
            case (("number" | "integer"), str()) if _NUMBER.fullmatch(value.strip()):
                parsed = float(value) if re.search("[.eE]", value) else int(value)
                if math.isfinite(parsed) and (name == "number" or parsed == int(parsed)):
                    return number(float(parsed)) if isinstance(parsed, float) else parsed
            case "string", bool() | int() | float():
                return dumps(value)
            case "boolean", "true" | "false":
                return value == "true"
            case "boolean", int() | float() if value in (0, 1):
                return bool(value)
            case "array", _:
                return [value]
            case _:
                pass
    return value


def _type_name(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "integer" if value.is_integer() else "number"
        case str():
            return "string"
        case list() | tuple():
            return "array"
        case _:
            return "object"


def _same(one: Any, other: Any) -> bool:
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def _join(path: str, step: str) -> str:
    return f"{path}.{step}" if path else step


def _indented(value: Any) -> str:
    """Return `value` as JSON with an indent of two spaces, numbers and lone surrogates as ECMAScript writes them."""
    text = json.dumps(_plain_numbers(value), indent=2, ensure_ascii=False, default=str)
    return _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _plain_numbers(value: Any) -> Any:
    match value:
        case float():
            return number(value) if math.isfinite(value) else None
        case dict():
            return {key: _plain_numbers(item) for key, item in value.items()}
        case list() | tuple():
            return [_plain_numbers(item) for item in value]
        case _:
            return value
