"""Mermaid diagrams drawn with box characters: pure functions from text to lines."""

from __future__ import annotations

from functools import lru_cache

from piolet.tui.mermaid import flowchart
from piolet.tui.mermaid.drawing import graph_lines
from piolet.tui.mermaid.source import Unreadable, statements, widest
from piolet.tui.spans import Line, line_width

_WRAPS = (40, 24, 14)  # cells of a text in a box, tried in this order until the drawing is narrow enough


@lru_cache(32)
def diagram(source: str, limit: int) -> tuple[Line, ...] | None:
    """Return the diagram that `source` describes in rows of at most `limit` cells; None if it is not understood, too
    large, or wider."""
    try:
        lines = statements(source)
        graph = flowchart.read(lines)
        longest = max((widest(node.rows) for node in graph.nodes.values()), default=0)
        wraps = [wrap for wrap in _WRAPS if wrap is _WRAPS[0] or wrap < longest]
        sideways = graph.direction in ("LR", "RL")
        for direction in (graph.direction, "TD") if sideways else (graph.direction,):
            for wrap in wraps:
                drawn = graph_lines(graph, direction, wrap)
                if drawn and max(map(line_width, drawn)) <= limit:
                    return tuple(drawn)
    except Unreadable:
        pass
    return None
