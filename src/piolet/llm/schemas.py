"""What constrained sampling makes of a tool: a strict schema, or a grammar for the text of its one argument.

Source: providers, sections 1 and 5.
"""

from __future__ import annotations

from typing import Any

from piolet.llm.errors import RequestError
from piolet.llm.model import ToolSpec

_UNSUPPORTED = {"patternProperties", "oneOf", "allOf", "not", "if", "dependentSchemas", "dependentRequired", "$ref"}


def strict_parameters(tool: ToolSpec, supported: bool) -> dict[str, Any] | None:
    """Return the strict form of the schema of `tool`: closed objects whose members are all required, or may be null.

    None if the tool does not want it, the server has no support, or the schema has no such form; `RequestError` if the
    tool requires it then.
    """
    wanted = tool.constrained_sampling
    if not isinstance(wanted, dict) or wanted.get("type") != "json_schema":
        return None
    schema = _strict(tool.parameters) if supported else None
    if schema is None and wanted.get("strict") == "require":
        missing = "its schema has no strict form" if supported else "this model has none"
        raise RequestError(f"The tool '{tool.name}' requires constrained sampling, but {missing}")
    return schema


def grammar_of(tool: ToolSpec, supported: bool) -> tuple[str, str] | None:
    """Return syntax (``lark`` or ``regex``) and text of the grammar of `tool` in OpenAI's form; None without."""
    wanted = tool.constrained_sampling
    if not supported or not isinstance(wanted, dict) or wanted.get("type") != "grammar":
        return None
    variants = wanted.get("variants") or {}
    for syntax in ("lark", "regex"):
        if (definition := variants.get(f"openai_{syntax}")) and grammar_field(tool):
            return syntax, definition
    return None


def grammar_field(tool: ToolSpec) -> str | None:
    """Return the name of the one string argument of `tool`, which holds the text that a grammar made; None without."""
    properties = tool.parameters.get("properties", {})
    names = [name for name, schema in properties.items() if schema.get("type") == "string"]
    return names[0] if len(names) == len(properties) == 1 else None


def _strict(schema: Any) -> dict[str, Any] | None:
    if not isinstance(schema, dict) or _UNSUPPORTED & schema.keys() or not schema.keys() & {"type", "anyOf"}:
        return None
    result = dict(schema)
    if "properties" in schema or schema.get("type") == "object":
        if schema.get("additionalProperties") not in (None, False):
            return None
        properties: dict[str, Any] = {}
        required = schema.get("required", ())
        for name, value in schema.get("properties", {}).items():
            strict = _strict(value)
            if strict is None:
                return None
            properties[name] = strict if name in required else {"anyOf": [strict, {"type": "null"}]}
        result |= {"properties": properties, "required": list(properties), "additionalProperties": False}
    if "items" in schema:
        items = _strict(schema["items"])
        if items is None:
            return None
        result["items"] = items
    if "anyOf" in schema:
        choices = [_strict(choice) for choice in schema["anyOf"]]
        if None in choices:
            return None
        result["anyOf"] = choices
    return result
