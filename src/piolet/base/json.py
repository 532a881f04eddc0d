"""The one JSON writer, for files and for the wire: bytes as ``JSON.stringify`` would give them.

Compact, non-ASCII raw, control characters below U+0020 escaped, lone surrogates escaped (``\\ud83d``), numbers in the
shortest form of ECMAScript (``1`` and not ``1.0``, ``1e+21``, ``1e-7``, ``-0`` as ``0``, no NaN). Source: the session
format, section 2. msgspec writes nearly the same; what it writes otherwise goes through `_dump`.
"""

from __future__ import annotations

import json as stdlib
import re
from collections.abc import Callable, Mapping
from json.encoder import encode_basestring
from typing import Any, Protocol, runtime_checkable

import msgspec


@runtime_checkable
class RawJson(Protocol):
    """A value that keeps the plain JSON value which it was read from (an unknown block or message)."""

    @property
    def raw(self) -> Any: ...


def _unwrap(value: Any) -> Any:
    if isinstance(value, msgspec.Raw):
        return loads(bytes(value))
    if isinstance(value, RawJson):
        return value.raw
    raise TypeError(f"{type(value).__name__} has no JSON form")


_encoder = msgspec.json.Encoder(enc_hook=_unwrap)
# A number that msgspec writes differently from ECMAScript looks so; inside a string it is a harmless false alarm.
_odd_number = re.compile(rb"[0-9](?:\.0|e-?[0-9]+)[,}\]]|[0-9](?:\.0|e-?[0-9]+)\Z|[:,\[]-0[,}\]]")
_surrogate = re.compile("[\ud800-\udfff]")


def dumps(value: Any) -> str:
    """Return `value` (builtins, msgspec Structs, values with ``raw``) as compact JSON text without lone surrogates."""
    return encode(value).decode()


def encode(value: Any) -> bytes:
    """Return `value` as compact JSON in UTF-8, without a line feed at the end."""
    try:
        data = _encoder.encode(value)
    except UnicodeEncodeError:
        data = None  # a lone surrogate, which UTF-8 cannot hold
    if data is not None and not _odd_number.search(data):
        return data
    parts: list[str] = []
    _dump(msgspec.to_builtins(value, enc_hook=_unwrap), parts.append)
    text = "".join(parts)
    return _surrogate.sub(lambda m: f"\\u{ord(m[0]):04x}", text).encode()


def loads(data: bytes | str) -> Any:
    """Return the JSON value of `data` as ``JSON.parse`` would: no NaN, no control characters; lone surrogates are kept.

    Invalid UTF-8 becomes U+FFFD. Raises ValueError for anything else, also for nesting beyond reason.
    """
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        pass  # msgspec takes neither surrogates nor broken UTF-8
    text = data if isinstance(data, str) else data.decode("utf-8", "replace")
    try:
        return stdlib.loads(text, parse_constant=_no_constant)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def number(value: float) -> int | float:
    """Return `value` as an int if it is integral and small enough to be exact, so that it is written without ``.0``."""
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


def to_plain(value: Any) -> Any:
    """Return `value` as dicts, lists and scalars, as a JSON reader would give them."""
    return msgspec.to_builtins(value, enc_hook=_unwrap)


def _dump(value: Any, put: Callable[[str], object]) -> None:
    match value:
        case None:
            put("null")
        case True:
            put("true")
        case False:
            put("false")
        case str():
            put(encode_basestring(value))
        case int():
            put(str(value))
        case float():
            put(_ecmascript_number(value))
        case Mapping():
            put("{")
            for i, (key, item) in enumerate(value.items()):
                put("," if i else "")
                put(encode_basestring(str(key)))
                put(":")
                _dump(item, put)
            put("}")
        case _:
            put("[")
            for i, item in enumerate(value):
                put("," if i else "")
                _dump(item, put)
            put("]")


def _ecmascript_number(value: float) -> str:
    """Number::toString of ECMA-262: shortest digits, positional for exponents from -6 to 20, else ``d.ddde+x``."""
    if value != value or value in (float("inf"), float("-inf")):
        return "null"
    if value == 0:
        return "0"
    sign = "-" if value < 0 else ""
    mantissa, _, power = f"{abs(value)!r}".partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    # The value is 0.DIGITS times ten to the `point`.
    point = int(power or 0) + (len(whole) if whole != "0" else -(len(fraction) - len(fraction.lstrip("0"))))
    digits = digits.rstrip("0")
    if len(digits) <= point <= 21:
        return sign + digits.ljust(point, "0")
    if 0 < point <= 21:
        return f"{sign}{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    tail = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{tail}e{point - 1:+d}"
