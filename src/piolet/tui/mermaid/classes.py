"""Class diagrams, as graphs: ``classDiagram``."""

from __future__ import annotations

import re
from collections.abc import Sequence

from piolet.tui.mermaid.graph import ARROW, Edge, Graph, Node
from piolet.tui.mermaid.source import Unreadable, label

_ID = r"`?([\w.-]*\w(?:~[^~]*~)?)`?(?::::[\w-]+)?"
_QUOTED = r'(?:"([^"]*)")?'
_relation = re.compile(rf"{_ID} ?{_QUOTED} ?(<\||[<*o])?(--|\.\.)(\|>|[>*o])? ?{_QUOTED} ?{_ID}(?: ?: ?(.*))?\Z")
_class = re.compile(rf'class {_ID} ?(?:\["([^"]*)"\])? ?(\{{)?\Z')
_member = re.compile(rf"{_ID} ?: ?(.+)\Z")
_annotation = re.compile(rf"<<(\w+)>>(?: {_ID})?\Z")
_note = re.compile(rf'note for {_ID} "([^"]*)"\Z')
_space = re.compile(r"namespace (\S+) ?\{\Z")
_ignored = re.compile(r"(?:classDef|cssClass|style|click|link|callback|accTitle|accDescr)\b")
_generic = re.compile(r"~([^~]+)~")
_HEADS = {"<|": "▷▽◁△", "|>": "▷▽◁△", "<": ARROW, ">": ARROW, "*": "◆◆◆◆", "o": "◇◇◇◇"}


def read(lines: Sequence[str]) -> Graph:
    """Return the graph of a class diagram. Raises `Unreadable`."""
    graph, group = Graph(), ""
    inside: Node | None = None  # the class in whose braces the lines are
    for line in lines[1:]:
        if line == "}" and inside:
            inside = None
        elif line == "}" and group:
            group = graph.close(group)
        elif inside:
            _add(inside, line)
        elif line.startswith("direction "):
            graph.turn(line.removeprefix("direction "))
        elif match := _space.match(line):
            graph.open(match[1], label(match[1]), group)
            group = match[1]
        elif match := _note.match(line):
            graph.note(_key(graph, match[1], group), label(match[2]), group)
        elif match := _class.match(line):
            node = graph.nodes[_key(graph, match[1], group)]
            node.rows = label(match[2] or "") or node.rows
            inside = node if match[3] else None
        elif (match := _annotation.match(line)) and match[2]:
            _add(graph.nodes[_key(graph, match[2], group)], line)
        elif match := _relation.match(line):
            source, target = _key(graph, match[1], group), _key(graph, match[7], group)
            tail, head = _HEADS.get(match[3], ""), _HEADS.get(match[5], "")
            rows, ends = tuple(label(match[8] or "")), (match[2] or "", match[6] or "")
            graph.connect(Edge(source, target, rows, "solid" if match[4] == "--" else "dotted", tail, head, ends))
        elif match := _member.match(line):
            _add(graph.nodes[_key(graph, match[1], group)], match[2])
        elif not _ignored.match(line):
            raise Unreadable
    if group or inside:
        raise Unreadable
    for node in graph.nodes.values():
        node.sections = [part for part in node.sections if part]
    return graph


def _key(graph: Graph, name: str, group: str) -> str:
    """Return the name in the graph of a class, which may be new."""
    key = name.partition("~")[0]
    node = graph.node(key, group)
    if key != name:
        node.rows = [_generic.sub(r"<\1>", name)]
    return key


def _add(node: Node, line: str) -> None:
    """Add a member, or an annotation, to a class. Attributes stand above methods."""
    if match := _annotation.match(line):
        node.rows = [f"«{match[1]}»", *node.rows]
        return
    node.sections = node.sections or [[], []]
    node.sections["(" in line].append(_generic.sub(r"<\1>", " ".join(label(line))))
