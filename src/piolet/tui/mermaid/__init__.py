"""Mermaid diagrams drawn with box characters: pure functions from text to lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from piolet.tui.mermaid import classes, entities, flowchart, sequence, states
from piolet.tui.mermaid.drawing import graph_lines
from piolet.tui.mermaid.source import Unreadable, statements, widest
from piolet.tui.spans import Line

_WRAPS = (40, 24, 14)  # cells of a row of text, tried in this order until the drawing is narrow enough
_READERS = {
    "graph": flowchart.read,
    "flowchart": flowchart.read,
    "flowchart-elk": flowchart.read,
    "stateDiagram": states.read,
    "stateDiagram-v2": states.read,
    "classDiagram": classes.read,
    "classDiagram-v2": classes.read,
    "erDiagram": entities.read,
}


@lru_cache(32)
def diagram(source: str, limit: int) -> tuple[Line, ...] | None:
    """Return the diagram that `source` describes in rows of at most `limit` cells; None if it is not understood, too
    large, or wider."""
    try:
        return next((tuple(drawn) for drawn in _drawings(statements(source), limit) if drawn), None)
    except Unreadable:
        return None


def _drawings(lines: Sequence[str], limit: int) -> Iterator[list[Line]]:
    """Yield the diagram in its own direction, narrower and narrower, and then downwards; nothing for what is wider than
    `limit` cells."""
    kind = lines[0].partition(" ")[0].rstrip(";")
    if kind == "sequenceDiagram":
        for wrap in _WRAPS:
            yield sequence.sequence_lines(sequence.read(lines, wrap), limit)
        return
    if kind not in _READERS:
        raise Unreadable
    graph = _READERS[kind](lines)
    longest = max((widest(node.rows) for node in graph.nodes.values()), default=0)
    wraps = [wrap for wrap in _WRAPS if wrap == _WRAPS[0] or wrap < longest]
    for direction in (graph.direction, "TD") if graph.direction in ("LR", "RL") else (graph.direction,):
        for wrap in wraps:
            yield graph_lines(graph, direction, wrap, limit)
