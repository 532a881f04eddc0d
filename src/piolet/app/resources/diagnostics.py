"""What was wrong with a resource."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

Code: TypeAlias = Literal[
    "path-missing",
    "not-markdown",
    "unreadable",
    "collision",
    "description-required",
    "description-too-long",
    "name-too-long",
    "name-invalid-characters",
    "name-edge-hyphen",
    "name-double-hyphen",
    "invalid-theme",
]


class Diagnostic(Struct, frozen=True):
    """A file that is not used, or used in spite of a fault. Of a collision `path` loses and `winner` is used."""

    code: Code
    path: str
    message: str
    winner: str | None = None


def collision(kind: str, name: str, loser: str, winner: str) -> Diagnostic:
    """Return the diagnostic of a second resource of one name."""
    return Diagnostic("collision", loser, f"the {kind} {name!r} is already defined by {winner}", winner)


def read_markdown(path: str) -> str:
    """Return the text of a file; bytes that are no UTF-8 are replaced. OSError if it cannot be read."""
    with open(path, "rb") as file:
        return file.read().decode(errors="replace")
