"""Flags of extensions on the command line: which of the unknown options they are, and their values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import Struct, field

if TYPE_CHECKING:
    from piolet.app.extensions.definitions import FlagDefinition, FlagValue


class FlagError(Exception):
    """Options that nobody knows, or that lack their value. `unknown`: the names, without dashes. `hint`: why an
    extension that may know them was not asked."""

    def __init__(self, text: str, unknown: tuple[str, ...] = (), hint: str = "") -> None:
        super().__init__(text)
        self.unknown = unknown
        self.hint = hint


class GivenFlag(Struct, frozen=True):
    """An option as it was given. `value` is None for a bare one. `joined`: it came with an equals sign, so it is the
    option's for certain. `place`: how many messages stood before it."""

    value: str | None = None
    joined: bool = False
    place: int = 0


class FlagValues(Struct):
    """`values` by name. `returned`: words that were messages after all, since the flag before them takes no value;
    each with its place among the messages."""

    values: dict[str, FlagValue] = field(default_factory=dict)
    returned: list[tuple[int, str]] = field(default_factory=list)

    def messages(self, given: list[str]) -> list[str]:
        """Return the messages that were `given`, with the returned words in their places."""
        result = list(given)
        for before, (place, word) in enumerate(sorted(self.returned, key=lambda one: one[0])):
            result.insert(place + before, word)
        return result


def read_flags(definitions: Mapping[str, FlagDefinition], given: Mapping[str, GivenFlag], hint: str = "") -> FlagValues:
    """Return the values of flags. Raises `FlagError`, with `hint` for options that are unknown."""
    if unknown := tuple(name for name in given if name not in definitions):
        raise FlagError(f"Unknown options: {', '.join(f'--{name}' for name in unknown)}", unknown, hint)
    read = FlagValues()
    for name, flag in given.items():
        if definitions[name].type == "string":
            if flag.value is None:
                raise FlagError(f"--{name} needs a value")
            read.values[name] = flag.value
        elif flag.value is None or flag.value in ("true", "false"):
            read.values[name] = flag.value != "false"
        elif flag.joined:
            raise FlagError(f"--{name} is on or off: it takes no value but true and false")
        else:
            read.values[name] = True
            read.returned.append((flag.place, flag.value))
    return read
