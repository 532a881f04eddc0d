"""Whether a record that an extension made holds what its types say: nothing else checks it before it is stored."""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal

import msgspec
from msgspec import Struct

from piolet.base.json import RawJson, encode


def check_fit(value: object, kind: Any, name: str) -> None:
    """Raise TypeError if `value`, which is called `name`, or a part of it is not of the type `kind`.

    What may be anything must have a JSON form. Protocols and unknown blocks are taken as they are.
    """
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if isinstance(value, RawJson):
        return
    if kind is Any or (origin in (dict, Mapping) and parts[1] is Any):
        _check_json(value, name)
    elif origin in (dict, Mapping):
        if not isinstance(value, Mapping):
            raise TypeError(f"{name} must be a mapping, not {type(value).__name__}")
        for key, item in value.items():
            check_fit(key, parts[0], f"a key of {name}")
            check_fit(item, parts[1], f"{name}[{key!r}]")
    elif origin in (typing.Union, types.UnionType):
        _check_union(value, parts, name)
    elif origin is Literal:
        if value not in parts:
            raise TypeError(f"{name} must be one of {', '.join(map(repr, parts))}, not {value!r}")
    elif origin in (list, Sequence):
        if not isinstance(value, list | tuple):
            raise TypeError(f"{name} must be a list, not {type(value).__name__}")
        for place, item in enumerate(value):
            check_fit(item, parts[0], f"{name}[{place}]")
    elif _is_class(kind):
        if not isinstance(value, (int, float) if kind is float else kind):
            raise TypeError(f"{name} must be {kind.__name__}, not {type(value).__name__}")
        if isinstance(value, Struct):
            for field, field_kind in _fields(type(value)):
                check_fit(getattr(value, field), field_kind, f"{name}.{field}")


def _check_union(value: object, parts: Sequence[Any], name: str) -> None:
    """Where it is clear which part of the union `value` should be, that part says what is wrong with it."""
    parts = [part for part in parts if part is not types.NoneType or value is None]
    meant = [part for part in parts if isinstance(value, _shape(part))] or parts
    errors = []
    for part in meant:
        try:
            check_fit(value, part, name)
        except TypeError as error:
            errors.append(error)
        else:
            return
    if len(meant) == 1:
        raise errors[0]
    kinds = " or ".join(getattr(part, "__name__", str(part)) for part in parts)
    raise TypeError(f"{name} must be {kinds}, not {type(value).__name__}")


def _shape(kind: Any) -> type | tuple[type, ...]:
    """Return the classes of values that could be meant to be of a type."""
    if typing.get_origin(kind) in (list, Sequence):
        return (list, tuple)
    return kind if _is_class(kind) else ()


def _is_class(kind: Any) -> bool:
    return isinstance(kind, type) and not getattr(kind, "_is_protocol", False)


def _check_json(value: object, name: str) -> None:
    try:
        encode(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise TypeError(f"{name} must be JSON: {error}") from None


@lru_cache
def _fields(kind: type[Struct]) -> Sequence[tuple[str, Any]]:
    return [(field.name, field.type) for field in msgspec.structs.fields(kind)]
