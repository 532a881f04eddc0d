"""A plan of a graph drawn on a canvas, in the direction of the diagram."""

from __future__ import annotations

from piolet.tui.mermaid.canvas import Canvas, Point
from piolet.tui.mermaid.graph import Direction, Graph
from piolet.tui.mermaid.layout import arrange
from piolet.tui.mermaid.plan import Box, Metric
from piolet.tui.spans import Line
from piolet.tui.text import width

# The signs of heads that point along, back, and inward.
_WAYS: dict[Direction, tuple[int, int, int]] = {"TD": (1, 3, 2), "BT": (3, 1, 2), "LR": (0, 2, 3), "RL": (2, 0, 3)}


def graph_lines(graph: Graph, direction: Direction, wrap: int, limit: int) -> list[Line]:
    """Return a graph drawn in this direction, with at most `wrap` cells in a row of text in a node; nothing if it is
    wider than `limit` cells."""
    metric = Metric(direction, wrap)
    plan = arrange(graph, metric)
    if (plan.breadth if metric.down else plan.length) > limit:
        return []
    canvas = Canvas()

    def at(along: int, across: int) -> Point:
        if direction in ("BT", "RL"):
            along = plan.length - 1 - along
        return (across, along) if metric.down else (along, across)

    def corners(box: Box) -> tuple[Point, Point]:
        one = at(box.along, box.across)
        other = at(box.along + box.length - 1, box.across + box.breadth - 1)
        return min(one, other), max(one, other)

    for box in plan.boxes:
        if box.group or (box.node and box.node.corners is not None):
            canvas.frame(*corners(box), box.node.corners or "" if box.node else "")
    for along, across, to_along, to_across, stroke in plan.wires:
        canvas.line(at(along, across), at(to_along, to_across), stroke)
    for box in plan.boxes:
        _fill(canvas, box, *corners(box))
    for along, across, sign, way in plan.heads:
        canvas.sign(at(along, across), sign[_WAYS[direction][way]])
    return canvas.lines()


def _fill(canvas: Canvas, box: Box, corner: Point, opposite: Point) -> None:
    """Write the texts of a box between its corners."""
    (left, top), (right, bottom) = corner, opposite
    if box.group:
        for row in box.rows:
            canvas.write((left + 1, top), f" {row} ")
        return
    if box.node is None:
        for n, row in enumerate(box.rows):
            missing = right - left + 1 - width(row)
            canvas.write((left, top + n), " " * (missing - missing // 2) + row + " " * (missing // 2))
        return
    sections = box.node.sections
    y = top + (bottom - top + 1 - len(box.rows)) // 2 if not sections else top + 1
    for row in box.rows:
        canvas.centre(left, right, y, row)
        y += 1
    for section in sections:
        canvas.line((left, y), (right, y))
        for n, row in enumerate(section):
            canvas.write((left + 2, y + 1 + n), row)
        y += 1 + len(section)
