"""Write model files in the GGUF format, version 3 (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md)."""

from __future__ import annotations

import struct
import sys
from array import array
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

ALIGNMENT = 32  # the format's default
UINT32, INT32, FLOAT32, BOOL, STRING, ARRAY = 4, 5, 6, 7, 8, 9
Value = bool | int | float | str | list[str] | list[int]


@dataclass
class Tensor:
    """A matrix of 32-bit floats with `rows` rows of `columns` each; a vector has one row and no second dimension."""

    columns: int
    rows: int | None
    data: array[float]

    @classmethod
    def full(cls, columns: int, rows: int | None = None, value: float = 0.0) -> Tensor:
        return cls(columns, rows, array("f", [value]) * (columns * (rows or 1)))

    def __setitem__(self, place: tuple[int, int], value: float) -> None:
        row, column = place
        self.data[row * self.columns + column] = value


def write(path: Path, metadata: Mapping[str, Value], tensors: Mapping[str, Tensor]) -> None:
    """Write a model file. An int is stored as uint32, in a list as int32."""
    assert sys.byteorder == "little"
    head = [b"GGUF", struct.pack("<IQQ", 3, len(tensors), len(metadata))]
    for key, value in metadata.items():
        head += (_string(key), _typed(value))
    offset = 0
    for name, tensor in tensors.items():
        sizes = [tensor.columns] if tensor.rows is None else [tensor.columns, tensor.rows]
        head += (_string(name), struct.pack(f"<I{len(sizes)}QIQ", len(sizes), *sizes, 0, offset))
        offset += _padded(len(tensor.data) * 4)
    with path.open("wb") as file:
        start = b"".join(head)
        file.write(start.ljust(_padded(len(start)), b"\0"))
        for tensor in tensors.values():
            content = tensor.data.tobytes()
            file.write(content.ljust(_padded(len(content)), b"\0"))


def _padded(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


def _string(text: str) -> bytes:
    content = text.encode()
    return struct.pack("<Q", len(content)) + content


def _typed(value: Value) -> bytes:
    match value:
        case bool():
            return struct.pack("<I?", BOOL, value)
        case int():
            return struct.pack("<II", UINT32, value)
        case float():
            return struct.pack("<If", FLOAT32, value)
        case str():
            return struct.pack("<I", STRING) + _string(value)
        case [str(), *_]:
            items = b"".join(_string(str(item)) for item in value)
            return struct.pack("<IIQ", ARRAY, STRING, len(value)) + items
        case _:
            return struct.pack(f"<IIQ{len(value)}i", ARRAY, INT32, len(value), *value)
