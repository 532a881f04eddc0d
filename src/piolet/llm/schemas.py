"""Tool schemas in the strict form that constrained sampling wants: closed objects whose members are all required."""

from __future__ import annotations

from typing import Any

from piolet.llm.errors import RequestError
from piolet.llm.model import ToolSpec

_UNSUPPORTED = {"patternProperties", "oneOf", "allOf", "not", "if", "dependentSchemas", "dependentRequired", "$ref"}


def strict_parameters(tool: ToolSpec) -> dict[str, Any] | None:
    """Return the strict form of the schema of `tool`; None if it is not wanted or the schema has none.

    A member that may be left out becomes one that may be null. Raises `RequestError` if the tool requires a strict form
    and there is none.
    """
    wanted = tool.constrained_sampling
    if wanted is False or (isinstance(wanted, dict) and wanted.get("type") != "json_schema"):
        return None
    schema = _strict(tool.parameters)
    if schema is None and isinstance(wanted, dict) and wanted.get("strict") == "require":
        raise RequestError(f"The schema of tool '{tool.name}' has no strict form, which the tool requires")
    return schema


def _strict(schema: Any) -> dict[str, Any] | None:
    if not isinstance(schema, dict) or _UNSUPPORTED & schema.keys():
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
