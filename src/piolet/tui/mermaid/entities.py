"""Entity-relationship diagrams, as graphs: ``erDiagram``."""

from __future__ import annotations

import re
from collections.abc import Sequence

from piolet.tui.mermaid.graph import Edge, Graph, Node
from piolet.tui.mermaid.source import Unreadable, label

_ID = r'("[^"]*"|[\w-]*\w)(?::::[\w-]+)?'
_relation = re.compile(rf"{_ID} ?([|}}][|o]) ?(--|\.\.) ?([|o][|{{]) ?{_ID}(?: ?: ?(.*))?\Z")
_entity = re.compile(rf"{_ID} ?(?:\[([^\]]*)\])? ?(\{{)?\Z")
_ignored = re.compile(r"(?:classDef|class|style|title|accTitle|accDescr)\b")


def read(lines: Sequence[str]) -> Graph:
    """Return the graph of an entity-relationship diagram. Raises `Unreadable`."""
    graph = Graph()
    inside: Node | None = None  # the entity in whose braces the lines are
    for line in lines[1:]:
        if inside:
            if line == "}":
                inside = None
            else:
                inside.sections = [[*(inside.sections or [[]])[0], " ".join(label(line))]]
        elif line.startswith("direction "):
            graph.turn(line.removeprefix("direction "))
        elif match := _relation.match(line):
            source, target = _key(graph, match[1]), _key(graph, match[5])
            ends = _cardinality(match[2]), _cardinality(match[4])
            rows = tuple(label(match[6] or ""))
            graph.connect(Edge(source, target, rows, "solid" if match[3] == "--" else "dotted", ends=ends))
        elif match := _entity.match(line):
            node = graph.nodes[_key(graph, match[1])]
            node.rows = label(match[2] or "") or node.rows
            inside = node if match[3] else None
        elif not _ignored.match(line):
            raise Unreadable
    if inside:
        raise Unreadable
    return graph


def _key(graph: Graph, name: str) -> str:
    name = name.strip('"') or "?"
    graph.node(name, "")
    return name


def _cardinality(sign: str) -> str:
    least, most = "0" if "o" in sign else "1", "*" if sign.strip("|o") else "1"
    return least if least == most else f"{least}..{most}"
