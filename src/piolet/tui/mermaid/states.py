"""State diagrams, as graphs: ``stateDiagram``, ``stateDiagram-v2``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile

from piolet.tui.mermaid.graph import ARROW, ROUND, Edge, Graph
from piolet.tui.mermaid.source import Unreadable, label

_ID = r"([\w.-]+|\[\*\])(?::::[\w-]+)?"
_change = re.compile(rf"{_ID} ?--> ?{_ID}(?: ?: ?(.*))?\Z")
_named = re.compile(r'state (?:"([^"]*)" as )?([\w.-]+) ?(?:<<(\w+)>>)? ?(\{)?\Z')
_described = re.compile(r"([\w.-]+)(?::::[\w-]+)?(?: ?: ?(.*))?\Z")
_note = re.compile(r"note (?:left|right) of ([\w.-]+)(?: ?: ?(.*))?\Z", re.IGNORECASE)
_ignored = re.compile(r"(?:classDef|class|style|hide|scale|accTitle|accDescr)\b")
_SIGNS = {"choice": "◇", "fork": "━━━━━", "join": "━━━━━"}


def read(lines: Sequence[str]) -> Graph:
    """Return the graph of a state diagram. Raises `Unreadable`."""
    graph, group = Graph(), ""
    said = iter(lines[1:])
    for line in said:
        if line.startswith("direction "):
            if not group:
                graph.turn(line.removeprefix("direction "))
        elif line == "}" and group:
            group = graph.close(group)
        elif match := _note.match(line):
            text = match[2] or "\n".join(takewhile(lambda row: row != "end note", said))
            graph.note(_state(graph, match[1], group), label(text), group)
        elif match := _named.match(line):
            if match[4]:
                graph.open(match[2], label(match[1] or match[2]), group)
                group = match[2]
            else:
                _state(graph, match[2], group, match[1])
            if match[3]:
                node = graph.node(match[2], group)
                node.rows, node.corners = [_SIGNS.get(match[3].lower(), match[3])], None
        elif match := _change.match(line):
            source, target = _state(graph, match[1], group), _state(graph, match[2], group, end=True)
            graph.connect(Edge(source, target, tuple(label(match[3] or "")), head=ARROW))
        elif (match := _described.match(line)) and line != "--":
            _state(graph, match[1], group, match[2])
        elif not _ignored.match(line):
            raise Unreadable
    if group:
        raise Unreadable
    return graph


def _state(graph: Graph, name: str, group: str, text: str | None = None, *, end: bool = False) -> str:
    """Return the name in the graph of a state, which may be new; each group has a start and an end of its own."""
    if name == "[*]":
        name = f"[*] {end} {group}"
        node = graph.node(name, group)
        node.rows, node.corners = ["◉" if end else "●"], None
    elif name in graph.groups:
        graph.groups[name] = label(text or "") or graph.groups[name]
    else:
        node = graph.node(name, group)
        node.rows = label(text or "") or node.rows
        node.corners = ROUND if node.corners == "" else node.corners
    return name
