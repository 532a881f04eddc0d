"""Flowcharts: ``flowchart TD``, ``graph LR``."""

from __future__ import annotations

import re
from collections.abc import Sequence

from piolet.tui.mermaid.canvas import Stroke
from piolet.tui.mermaid.graph import ARROW, ROUND, Edge, Graph
from piolet.tui.mermaid.source import Unreadable, label

_BEVEL, _SLANTED = "╱╲╲╱", "╱┐└╱"
_SIGNS = {"": "", ">": ARROW, "<": ARROW, "o": "○○○○", "x": "××××"}
# What stands before and behind a text, and the corners of its frame; the first that fits counts.
_SHAPES = [
    *(("(((", ")))", ROUND), ("((", "))", ROUND), ("([", "])", ROUND), ("[(", ")]", ROUND), ("(", ")", ROUND)),
    *(("{{", "}}", _BEVEL), ("{", "}", _BEVEL), ("[/", "/]", _SLANTED), ("[/", "\\]", "╱╲└┘")),
    *(("[\\", "\\]", "┌╲╲┘"), ("[\\", "/]", "┌┐╲╱"), ("[[", "]]", ""), ("[", "]", ""), (">", "]", "")),
]
_header = re.compile(r"(?:graph|flowchart|flowchart-elk)(?: ([A-Za-z]{2}|[>v^<]))? ?(?:;|(?=\n)|\Z)")
_piece = re.compile(r'(?:#\w+;|"[^"]*"|[^;"])+')
# But not a node of such a name.
_ignored = re.compile(r"direction \w\w\Z|(?:style|classDef|class|linkStyle|click|accTitle|accDescr) (?![-=~&])")
_subgraph = re.compile(r"subgraph\b ?(?:([^ \[\]\"]+) ?\[(.*)\]|(.*))\Z")
_name = re.compile(r"\s*(\w+(?:[-./]\w+)*)")
_style = re.compile(r":::[\w-]+")
_link = re.compile(
    r"\s*([<xo](?=[-=]))?(?:(?P<bare>--+(?=[>xo])|==+(?=[>xo])|---+|===+|-\.+-)(?P<head>[>xo]?)|(?P<hidden>~~~+)"
    r"|(?P<open>--|==|-\.)(?![-=])\s*(?P<text>\"[^\"]*\"|[^\"|]*?)\s*(?:--+|==+|\.+-)(?P<last>[>xo]?))"
    r"(?:\s*\|(?P<label>[^|]*)\|)?"
)


def read(lines: Sequence[str]) -> Graph:
    """Return the graph of a flowchart. Raises `Unreadable`."""
    text = "\n".join(lines)
    header = _header.match(text)
    if not header:
        raise Unreadable
    graph, group = Graph(), ""
    graph.turn({None: "TD", ">": "LR", "<": "RL", "^": "BT", "v": "TD"}.get(header[1], header[1]))
    for line in text[header.end() :].split("\n"):
        for found in _piece.findall(line):
            statement = found.strip()
            if not statement or _ignored.match(statement):
                continue
            if statement == "end":
                if not group:
                    raise Unreadable
                group = graph.close(group)
            elif opened := _subgraph.match(statement):
                title = opened[2] or opened[3] or f"group {len(graph.groups) + 1}"
                name = opened[1] or title.strip().strip('"')
                graph.open(name, label(title), group)
                group = name
            else:
                _chain(graph, statement, group)
    return graph


def _chain(graph: Graph, text: str, group: str) -> None:
    """Read nodes that are linked: ``a & b -->|yes| c``."""
    sources, at = _nodes(graph, text, 0, group)
    while at < len(text):
        link = _link.match(text, at)
        if not link:
            raise Unreadable
        targets, at = _nodes(graph, text, link.end(), group)
        sign = link["bare"] or link["open"] or ""
        stroke: Stroke = "thick" if "=" in sign else "dotted" if "." in sign else "solid"
        rows = tuple(label(link["text"] or link["label"] or ""))
        tail, head = _SIGNS[link[1] or ""], _SIGNS[link["head"] or link["last"] or ""]
        for source in sources:
            for target in targets:
                graph.connect(Edge(source, target, rows, None if link["hidden"] else stroke, tail, head))
        sources = targets


def _nodes(graph: Graph, text: str, at: int, group: str) -> tuple[list[str], int]:
    """Read ``a & b[Text]`` at the offset `at`; return the names and the offset behind them."""
    names: list[str] = []
    while True:
        match = _name.match(text, at)
        if not match or match[1] == "end":
            raise Unreadable
        names.append(match[1])
        at = _shape(graph, match[1], text, match.end(), group)
        style = _style.match(text, at)
        at = style.end() if style else at
        rest = text[at:].lstrip()
        if not rest.startswith("&"):
            return names, at if rest else len(text)
        at = text.index("&", at) + 1


def _shape(graph: Graph, name: str, text: str, at: int, group: str) -> int:
    """Read the shape behind a name, if there is one; return the offset behind it."""
    for opening, closing, corners in _SHAPES:
        start = at + len(opening)
        quoted = text.find('"', start + 1) if text.startswith('"', start) else start
        end = text.find(closing, quoted) if text.startswith(opening, at) else -1
        if end >= start:
            node = graph.node(name, group)
            node.rows, node.corners = label(text[start:end]) or [name], corners
            return end + len(closing)
    if name not in graph.groups:
        graph.node(name, group)
    return at
