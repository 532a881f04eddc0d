"""Python types as JSON Schemas, and JSON values as Python values: for the parameters of tools from functions.

str, int, float, bool, None, Any, Literal, Enum, list, dict with str keys, unions, TypedDict, dataclasses, and pydantic
models if pydantic is installed (it is never imported here).
"""

from __future__ import annotations

import enum
import types
import typing
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

from msgspec import Struct

from piolet.base.json import to_plain

_NO_DEFAULT = object()

#: What ``msgspec.Meta`` and ``annotated_types`` call the limits of a number, and what JSON Schema calls them.
_LIMITS: Final = {"ge": "minimum", "gt": "exclusiveMinimum", "le": "maximum", "lt": "exclusiveMaximum"}


class UnsupportedType(TypeError):
    """A type that has no JSON Schema here."""


class Parameter(Struct, frozen=True):
    """A parameter that the model gives. `type` may be ``Annotated``."""

    name: str
    type: Any
    is_required: bool
    default: Any = _NO_DEFAULT


class SchemaBuilder:
    """Builds the schema of one tool; what is used within itself or comes from pydantic goes to ``$defs``."""

    def __init__(self) -> None:
        self._definitions: dict[str, Any] = {}
        self._open: list[Any] = []

    def object_schema(self, properties: Mapping[str, Any], required: Sequence[str]) -> dict[str, Any]:
        """Return the schema of the whole argument object."""
        schema = _object(properties, required)
        if self._definitions:
            schema["$defs"] = self._definitions
        return schema

    def parameter(self, parameter: Parameter, description: str | None) -> dict[str, Any]:
        """Return the schema of one parameter, described by its annotation or else by `description`."""
        kind = parameter.type
        if not parameter.is_required and _is_optional(kind):
            kind = _without_none(kind)  # null means absent anyway
        schema = dict(self.schema(kind))
        if description and "description" not in schema:
            schema["description"] = description
        if parameter.default is not _NO_DEFAULT and parameter.default is not None:
            schema["default"] = to_plain(parameter.default)
        return schema

    def schema(self, kind: Any) -> dict[str, Any]:
        """Return the schema of a type. `UnsupportedType` if it has none."""
        origin, arguments = typing.get_origin(kind), typing.get_args(kind)
        if origin is typing.Annotated:
            return self._annotated(arguments)
        if kind in _SIMPLE:
            return dict(_SIMPLE[kind])
        if origin is Literal:
            return _choices(list(arguments))
        if origin in (typing.Union, types.UnionType):
            return {"anyOf": [self.schema(part) for part in arguments]}
        if kind in _ARRAYS or origin in _ARRAYS:
            return self._array(arguments)
        if kind in _MAPPINGS or origin in _MAPPINGS:
            if arguments and arguments[0] is not str:
                raise UnsupportedType("the keys of a dict must be str")
            return {"type": "object", "additionalProperties": self.schema(arguments[1] if arguments else Any)}
        if isinstance(kind, type):
            return self._class(kind)
        raise UnsupportedType(f"{kind!r} cannot be described to a model")

    def _annotated(self, arguments: tuple[Any, ...]) -> dict[str, Any]:
        schema = dict(self.schema(arguments[0]))
        for note in arguments[1:]:
            text = note if isinstance(note, str) else getattr(note, "description", None)
            if isinstance(text, str):
                schema["description"] = text
            limits = {word: getattr(note, name, None) for name, word in _LIMITS.items()}
            schema |= {word: limit for word, limit in limits.items() if limit is not None}
        return schema

    def _array(self, arguments: tuple[Any, ...]) -> dict[str, Any]:
        if len(arguments) == 2 and arguments[1] is not ...:
            raise UnsupportedType("a tuple of fixed length cannot be described; use a dataclass")
        return {"type": "array", "items": self.schema(arguments[0] if arguments else Any)}

    def _class(self, kind: type) -> dict[str, Any]:
        if issubclass(kind, enum.Enum):
            return _choices([member.value for member in kind])
        if hasattr(kind, "model_json_schema"):
            schema: dict[str, Any] = kind.model_json_schema()
            self._definitions |= schema.pop("$defs", {})
            return schema
        if not (_is_dataclass(kind) or typing.is_typeddict(kind)):
            raise UnsupportedType(f"{kind.__name__} cannot be described to a model")
        reference = {"$ref": f"#/$defs/{kind.__name__}"}
        if kind in self._open:
            self._definitions.setdefault(kind.__name__, {})
            return reference
        self._open.append(kind)
        fields = _fields(kind)
        schema = _object(
            {field.name: self.parameter(field, None) for field in fields},
            [field.name for field in fields if field.is_required],
        )
        self._open.pop()
        if kind.__name__ not in self._definitions:
            return schema
        self._definitions[kind.__name__] = schema
        return reference


def convert(kind: Any, value: Any) -> Any:
    """Return the validated JSON `value` as the Python value that `kind` means."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Annotated, typing.Required, typing.NotRequired):
        return convert(arguments[0], value)
    if origin in (typing.Union, types.UnionType):
        return _convert_union(arguments, value)
    if kind is float and isinstance(value, int):
        return float(value)
    if isinstance(value, list) and (kind in _ARRAYS or origin in _ARRAYS):
        items = [convert(arguments[0], item) for item in value] if arguments else value
        wanted = origin or kind
        return wanted(items) if wanted in (tuple, set, frozenset) else items
    if isinstance(value, dict) and (kind in _MAPPINGS or origin in _MAPPINGS):
        return {key: convert(arguments[1], item) for key, item in value.items()} if arguments else value
    if isinstance(kind, type):
        return _convert_class(kind, value)
    return value


def _convert_union(parts: tuple[Any, ...], value: Any) -> Any:
    if value is None and type(None) in parts:
        return None
    for part in parts:
        if part is not type(None):
            try:
                return convert(part, value)
            except (TypeError, ValueError, KeyError):  # not this one
                continue
    return value


def _convert_class(kind: type, value: Any) -> Any:
    if issubclass(kind, enum.Enum):
        return kind(value)
    if hasattr(kind, "model_validate"):
        return kind.model_validate(value)
    if _is_dataclass(kind):
        return kind(
            **{field.name: convert(field.type, value[field.name]) for field in _fields(kind) if field.name in value}
        )
    if typing.is_typeddict(kind):
        return {field.name: convert(field.type, value[field.name]) for field in _fields(kind) if field.name in value}
    if kind in (str, int, bool) and type(value) is not kind:
        raise TypeError(f"{value!r} is no {kind.__name__}")
    return value


def _fields(kind: type) -> list[Parameter]:
    """Return the fields of a dataclass or TypedDict."""
    hints = typing.get_type_hints(kind, include_extras=True)
    if not _is_dataclass(kind):
        return [_typed_dict_field(kind, name, hint) for name, hint in hints.items()]
    import dataclasses

    fields = []
    for field in dataclasses.fields(kind):
        if not field.init:
            continue
        has_default = field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING
        default = field.default if field.default is not dataclasses.MISSING else _NO_DEFAULT
        fields.append(Parameter(field.name, hints[field.name], is_required=not has_default, default=default))
    return fields


def _is_dataclass(kind: type) -> bool:
    return hasattr(kind, "__dataclass_fields__")


def _typed_dict_field(kind: Any, name: str, hint: Any) -> Parameter:
    origin = typing.get_origin(hint)
    if origin in (typing.Required, typing.NotRequired):
        return Parameter(name, typing.get_args(hint)[0], is_required=origin is typing.Required)
    return Parameter(name, hint, is_required=name in kind.__required_keys__)


def _object(properties: Mapping[str, Any], required: Sequence[str]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(required),
        "additionalProperties": False,
    }


def _choices(values: list[Any]) -> dict[str, Any]:
    names = {_JSON_TYPES.get(type(value)) for value in values}
    if None in names:
        raise UnsupportedType("choices must be strings, numbers, booleans or None")
    if len(names) == 1:
        return {"type": names.pop(), "enum": values}
    return {"enum": values}


def _is_optional(kind: Any) -> bool:
    if typing.get_origin(kind) is typing.Annotated:
        return _is_optional(typing.get_args(kind)[0])
    return typing.get_origin(kind) in (typing.Union, types.UnionType) and type(None) in typing.get_args(kind)


def _without_none(kind: Any) -> Any:
    arguments = typing.get_args(kind)
    if typing.get_origin(kind) is typing.Annotated:
        return typing.Annotated[(_without_none(arguments[0]), *arguments[1:])]
    return typing.Union[tuple(part for part in arguments if part is not type(None))]  # noqa: UP007


_JSON_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}
_SIMPLE: dict[Any, dict[str, Any]] = {Any: {}, object: {}, None: {"type": "null"}} | {
    kind: {"type": name} for kind, name in _JSON_TYPES.items()
}
_ARRAYS = (list, tuple, set, frozenset, Sequence)
_MAPPINGS = (dict, Mapping)
