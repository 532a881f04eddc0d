"""Nodes, edges and groups: what flowcharts, states, classes and entities have in common."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, cast, get_args

from piolet.tui.mermaid.canvas import Stroke
from piolet.tui.mermaid.source import Unreadable

MAX_NODES, MAX_EDGES, MAX_DEPTH = 80, 120, 6

Direction: TypeAlias = Literal["TD", "BT", "LR", "RL"]


@dataclass(slots=True)
class Node:
    """`corners`: those of its frame, row by row; "" for the usual ones, None: it has no frame. `sections`: what stands
    below its label, parted by rules."""

    rows: list[str]
    corners: str | None = ""
    sections: list[list[str]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Edge:
    """`tail` and `head` are pairs of the signs at its ends (pointing right, down, left, up), or "";
    `ends`: what is said at the source and at the target."""

    source: str
    target: str
    rows: tuple[str, ...] = ()
    stroke: Stroke | None = "solid"  # None: it is not drawn
    tail: str = ""
    head: str = ""
    ends: tuple[str, str] = ("", "")


ARROW = "▶▼◀▲"
ROUND = "╭╮╰╯"


class Graph:
    """What a diagram says. Names of nodes and groups are one space."""

    def __init__(self) -> None:
        self.direction: Direction = "TD"
        self.nodes: dict[str, Node] = {}
        self.groups: dict[str, list[str]] = {}  # titles
        self.parents: dict[str, str] = {}  # the group of a node or group; "" at the top
        self.edges: list[Edge] = []

    def turn(self, direction: str) -> None:
        """Take the direction of a diagram from its source; TB is TD."""
        direction = direction.upper().replace("TB", "TD")
        if direction not in get_args(Direction):
            raise Unreadable
        self.direction = cast(Direction, direction)

    def node(self, name: str, group: str) -> Node:
        """Return the node `name`, which is in `group` unless it is in another one; its label at first is its name."""
        if name in self.nodes:
            self.parents[name] = self.parents[name] or group
            return self.nodes[name]
        if len(self.nodes) >= MAX_NODES or name in self.groups:
            raise Unreadable
        self.parents[name] = group
        node = self.nodes[name] = Node([name])
        return node

    def note(self, name: str, rows: list[str], group: str) -> None:
        """Add words about the node `name`, which may be still to come."""
        note = f"note {len(self.nodes)}"
        self.node(note, group).rows = rows
        self.connect(Edge(name, note, stroke="dotted"))

    def open(self, name: str, title: list[str], group: str) -> None:
        """Begin the group `name` within `group`. What was taken for a node of that name before is it."""
        if name in self.groups or len(self.groups) >= MAX_NODES or len(list(self.around(group))) >= MAX_DEPTH:
            raise Unreadable
        self.nodes.pop(name, None)
        self.groups[name] = title
        self.parents[name] = group

    def close(self, name: str) -> str:
        """End the group `name`, which is a node if nothing is in it; return the group around it."""
        if name not in self.parents.values():
            self.nodes[name] = Node(self.groups.pop(name))
        return self.parents[name]

    def connect(self, edge: Edge) -> None:
        """Add an edge between things that exist by now or later on."""
        if len(self.edges) >= MAX_EDGES:
            raise Unreadable
        self.edges.append(edge)

    def around(self, name: str) -> Iterator[str]:
        """Yield `name` and the groups it is in, from inside out, without the top."""
        while name:
            yield name
            name = self.parents[name]
