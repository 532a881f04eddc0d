"""The real program on a terminal, as a user has it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType

from tests.support.run import PIOLET, Place
from tests.support.terminal import Terminal

READY = "/128k"  # in the footer, once a session is open


@contextmanager
def running(
    place: Place,
    *argv: str,
    columns: int = 100,
    rows: int = 30,
    env: Mapping[str, str] | None = None,
    ready: str = READY,
    cell: tuple[int, int] = (0, 0),
    answers: Mapping[bytes, str] = MappingProxyType({}),
) -> Iterator[Terminal]:
    """Run piolet until the block ends; it begins when `ready` is on the screen."""
    environment = place.environment() | dict(env or {})
    command = [*PIOLET, *argv]
    with Terminal(
        command, cwd=place.cwd, env=environment, columns=columns, rows=rows, cell=cell, answers=answers
    ) as terminal:
        terminal.wait_for(ready)
        yield terminal
