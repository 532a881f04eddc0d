"""A drawing of a graph that has no direction yet, and how its cells are used.

Positions are (along, across): along the direction of the diagram, and across it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from piolet.tui.mermaid.canvas import Stroke
from piolet.tui.mermaid.graph import Direction, Node
from piolet.tui.mermaid.source import widest

AHEAD, BACK, INWARD = range(3)  # where a head points: along, against it, or across to the first column


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle with rows of text in it: a node, a group, or, with neither, words at an edge."""

    along: int
    across: int
    length: int  # cells along
    breadth: int  # cells across
    rows: Sequence[str]
    node: Node | None = None
    group: bool = False


@dataclass(slots=True)
class Plan:
    """A drawing that has no direction yet. A wire leads from cell to cell; a head is a sign and where it points."""

    length: int = 0
    breadth: int = 0
    boxes: list[Box] = field(default_factory=list)
    wires: list[tuple[int, int, int, int, Stroke]] = field(default_factory=list)
    heads: list[tuple[int, int, str, int]] = field(default_factory=list)

    def take(self, other: Plan, along: int, across: int) -> None:
        """Put the parts of another plan into this one."""
        self.boxes += [replace(box, along=box.along + along, across=box.across + across) for box in other.boxes]
        self.wires += [(a + along, c + across, b + along, d + across, stroke) for a, c, b, d, stroke in other.wires]
        self.heads += [(a + along, c + across, sign, way) for a, c, sign, way in other.heads]


@dataclass(frozen=True, slots=True)
class Metric:
    """How cells are used. `wrap`: those of a row of text in a node."""

    direction: Direction
    wrap: int

    @property
    def down(self) -> bool:
        """Along is down or up, not sideways."""
        return self.direction in ("TD", "BT")

    @property
    def between(self) -> int:
        """The cells between neighbours in a layer."""
        return 3 if self.down else 1

    @property
    def border(self) -> tuple[int, int]:
        """The cells, along and across, between the border of a group and what is in it, with the border."""
        return (1, 2) if self.down else (2, 1)

    def size(self, rows: Sequence[str]) -> tuple[int, int]:
        """Return the cells of a text, along and across."""
        return (len(rows), widest(rows)) if self.down else (widest(rows), len(rows))
