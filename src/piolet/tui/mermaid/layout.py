"""Where the nodes of a graph stand and how its edges run: in layers, as Sugiyama has it.

A group is laid out by itself and is one item of a layer; edges that cross its border are led to ports there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from piolet.tui.mermaid.canvas import Stroke
from piolet.tui.mermaid.graph import ARROW, Graph, Node
from piolet.tui.mermaid.layers import Link, ranks, spread, tracks
from piolet.tui.mermaid.plan import AHEAD, BACK, INWARD, Box, Metric, Plan
from piolet.tui.mermaid.source import Unreadable, widest, wrapped
from piolet.tui.text import truncate

MAX_ITEMS = 400
SWEEPS = 6


@dataclass(slots=True, eq=False)
class _Item:
    """What has a place in a layer: a node, a group (`inner`), a port at the border of the group around it, or a piece
    of an edge that passes, perhaps with words. `body`: the cells across without a loop beside it."""

    rank: int = 0
    length: int = 1
    breadth: int = 1
    body: int = 1
    along: int = 0
    across: int = 0
    rows: Sequence[str] = ()
    node: Node | None = None
    inner: Plan | None = None
    ports: dict[int, int] = field(default_factory=dict)  # of a group: where edges cross its border
    loops: list[str] = field(default_factory=list)  # what edges to itself say
    above: list[_Wire] = field(default_factory=list)
    below: list[_Wire] = field(default_factory=list)

    @property
    def framed(self) -> bool:
        return self.inner is not None or (self.node is not None and self.node.corners is not None)

    @property
    def solid(self) -> bool:
        """Edges end at it; they do not pass."""
        return self.inner is not None or self.node is not None

    def ends(self, above: bool) -> list[tuple[_Item, int]]:
        """Return the items of the next layer that this one is joined to, with the numbers of the edges."""
        return [(w.upper, w.number) for w in self.above] if above else [(w.lower, w.number) for w in self.below]

    def port(self, number: int) -> int:
        """Return where, across, the edge of this number touches it, or should if nothing else did."""
        return self.across + self.ports.get(number, self.body // 2)


@dataclass(slots=True, eq=False)
class _Wire:
    """An edge on its way from one layer to the next, with the signs at its ends and what is to be said on it."""

    number: int
    stroke: Stroke | None
    upper: _Item
    lower: _Item
    tail: str
    head: str
    rows: Sequence[str]
    start: int = 0  # where it leaves the upper item, across
    end: int = 0


def arrange(graph: Graph, metric: Metric) -> Plan:
    """Return the plan of `graph`. Raises `Unreadable` if it is too large, or an edge leads into what it comes from."""
    for edge in graph.edges:
        source, target = set(graph.around(edge.source)), set(graph.around(edge.target))
        loop = edge.source == edge.target
        if (edge.source in target or edge.target in source) and not (loop and edge.source in graph.nodes):
            raise Unreadable
    return _Level(graph, metric).plan


class _Level:
    """What is directly in one group. `through`: the edges that cross its border, and whether they do so at its end."""

    def __init__(
        self, graph: Graph, metric: Metric, group: str = "", through: Mapping[int, bool] | None = None
    ) -> None:
        self._graph, self._metric, self._group = graph, metric, group
        self._items = {name: _Item() for name, parent in graph.parents.items() if parent == group}
        self._wires: list[_Wire] = []
        self.ports: dict[int, _Item] = {}
        if not self._items:
            raise Unreadable
        self._lift()
        self._cross(through or {})
        for name, item in self._items.items():
            if name in graph.groups:
                self._measure_group(name, item)
            else:
                self._measure_node(graph.nodes[name], item)
        self._layers = self._filled()
        self._order()
        self._place()
        for layer in self._layers:
            for item in layer:
                self._attach(item)
        self.plan = self._drawn()

    # ---------------------------------------------------------------------------------------------------- structure

    def _here(self, name: str) -> str:
        """Return the item of this level that `name` is, or is in; "" if there is none."""
        return next((outer for outer in self._graph.around(name) if self._graph.parents[outer] == self._group), "")

    def _lift(self) -> None:
        """Give the items their ranks, and wire those that an edge joins."""
        links: dict[int, Link] = {}
        for number, edge in enumerate(self._graph.edges):
            source, target = self._here(edge.source), self._here(edge.target)
            if source and target and source != target:
                links[number] = Link(source, target, 2 if edge.rows or any(edge.ends) else 1)
            elif source and edge.source == edge.target == source:
                self._items[source].loops.append(" ".join(edge.rows))
        rank, turned = ranks(list(self._items), links)
        for name, item in self._items.items():
            item.rank = rank[name]
        for number, link in turned.items():
            self._wire(number, self._items[link.upper], self._items[link.lower], back=link != links[number])

    def _cross(self, through: Mapping[int, bool]) -> None:
        """Lead the edges that cross the border to ports before the first layer or behind the last one."""
        found = [item.rank for item in self._items.values()]
        for number, at_end in through.items():
            edge = self._graph.edges[number]
            source = self._here(edge.source)
            item = self._items[source or self._here(edge.target)]
            port = self.ports[number] = _Item(max(found) + 1 if at_end else min(found) - 1, length=0)
            upper, lower = (item, port) if at_end else (port, item)
            self._wire(number, upper, lower, back=at_end != bool(source), silent=True)

    def _wire(self, number: int, upper: _Item, lower: _Item, *, back: bool, silent: bool = False) -> None:
        """Add an edge from item to item; `back`: it leads upwards. A sign stands only where the edge really ends."""
        edge = self._graph.edges[number]
        ends = (edge.target, edge.source) if back else (edge.source, edge.target)
        signs = (edge.head, edge.tail) if back else (edge.tail, edge.head)
        tail, head = (
            sign if self._items.get(name) is item else ""
            for sign, name, item in zip(signs, ends, (upper, lower), strict=True)
        )
        first = back != (self._metric.direction in ("BT", "RL"))  # which end is further left, or up
        words = [row for row in (edge.ends[first], *edge.rows, edge.ends[not first]) if row and not silent]
        rows = words if self._metric.down or not words else [" ".join(words)]
        self._wires.append(_Wire(number, edge.stroke, upper, lower, tail, head, rows))

    def _measure_group(self, name: str, item: _Item) -> None:
        """Lay out what is in a group."""
        edges, metric = self._graph.edges, self._metric
        crossing = {wire.number: wire.upper is item for wire in self._wires if item in (wire.upper, wire.lower)}
        through = {n: at_end for n, at_end in crossing.items() if name not in (edges[n].source, edges[n].target)}
        level = _Level(self._graph, metric, name, through)
        along, across = metric.border
        item.inner = level.plan
        item.ports = {number: port.across + across for number, port in level.ports.items()}
        item.rows = self._graph.groups[name][:1]
        item.length = item.inner.length + 2 * along
        item.body = item.inner.breadth + 2 * across
        if metric.down:
            item.body = max(item.body, widest(item.rows) + 4)
        item.rows = [truncate(row, (item.body if metric.down else item.length) - 4) for row in item.rows]
        item.breadth = item.body

    def _measure_node(self, node: Node, item: _Item) -> None:
        """Find the size of a node, with its loop."""
        metric, down = self._metric, self._metric.down
        item.node = node
        item.rows = wrapped(node.rows, metric.wrap)
        item.length, item.body = metric.size([*item.rows, *(row for part in node.sections for row in ("", *part))])
        if item.framed:
            item.length, item.body = item.length + (2 if down else 4), item.body + (4 if down else 2)
            above = {(wire.head, wire.stroke) for wire in self._wires if wire.lower is item}
            below = {(wire.tail, wire.stroke) for wire in self._wires if wire.upper is item}
            ports = max(len(above), len(below))
            item.body = max(item.body, 2 * ports + 1 if down else ports + 2)
        item.breadth = item.body
        if item.loops:
            words = ", ".join(filter(None, item.loops))
            length, breadth = metric.size([words])
            item.length = max(item.length, length + 2, 4)
            item.breadth += 2 + (breadth + down if words else 0)

    def _filled(self) -> list[list[_Item]]:
        """Return the layers, where an edge that spans several of them has an item in each; the first of those carries
        what is to be said on it."""
        items = [*self._items.values(), *self.ports.values()]
        wires, self._wires = self._wires, []
        for wire in wires:
            upper, tail, rows = wire.upper, wire.tail, wire.rows
            for rank in range(upper.rank + 1, wire.lower.rank):
                length, breadth = self._metric.size(rows) if rows else (1, 1)
                passing = _Item(rank, length if self._metric.down else length + 2, breadth, breadth, rows=rows)
                items.append(passing)
                self._join(replace(wire, upper=upper, lower=passing, tail=tail, head=""))
                upper, tail, rows = passing, "", ()
            self._join(replace(wire, upper=upper, tail=tail))
            if len(items) > MAX_ITEMS:
                raise Unreadable
        layers: dict[int, list[_Item]] = {}
        for item in items:
            layers.setdefault(item.rank, []).append(item)
        return [layers[rank] for rank in sorted(layers)]

    def _join(self, wire: _Wire) -> None:
        wire.upper.below.append(wire)
        wire.lower.above.append(wire)
        self._wires.append(wire)

    # ------------------------------------------------------------------------------------------------------- places

    def _sweeps(self) -> Iterator[tuple[list[_Item], bool]]:
        """Yield the layers, downwards and upwards in turn, with whether it is downwards."""
        for sweep in range(SWEEPS):
            for layer in reversed(self._layers) if sweep % 2 else self._layers:
                yield layer, sweep % 2 == 0

    def _order(self) -> None:
        """Order each layer by what its items are joined to, so that few edges cross."""
        place = {item: float(n) for layer in self._layers for n, item in enumerate(layer)}
        for layer, downwards in self._sweeps():
            wanted = {
                item: _mean([place[o] + o.ports.get(n, 0) / o.breadth for o, n in item.ends(downwards)], place[item])
                for item in layer
            }
            layer.sort(key=wanted.__getitem__)
            place.update((item, float(n)) for n, item in enumerate(layer))

    def _place(self) -> None:
        """Put the items of each layer near what they are joined to."""
        for layer, downwards in self._sweeps():
            wanted = [
                _mean([o.port(n) - item.port(n) + item.across for o, n in item.ends(downwards)], item.across)
                for item in layer
            ]
            places = spread(wanted, [item.breadth for item in layer], self._metric.between)
            for item, place in zip(layer, places, strict=True):
                item.across = place
        least = min(item.across for layer in self._layers for item in layer)
        for layer in self._layers:
            for item in layer:
                item.across -= least

    def _attach(self, item: _Item) -> None:
        """Find where edges touch an item. Those with one sign at this end share a place, from which one of them is
        straight if it can be."""
        margin = 1 if item.framed else 0
        first, room = item.across + margin, item.body - 2 * margin
        for wires, below in ((item.above, False), (item.below, True)):
            nets: dict[object, list[_Wire]] = {}
            for wire in wires:
                own = wire.number if wire.number in item.ports else None
                nets.setdefault((own, wire.tail if below else wire.head, wire.stroke), []).append(wire)
            there = {wire: wire.lower.port(wire.number) if below else wire.start for wire in wires}
            ordered = sorted(nets.values(), key=lambda net: _mean([there[wire] for wire in net], 0))
            for n, net in enumerate(ordered):
                at = first + (2 * n + 1) * room // (2 * len(nets))
                near = min((there[wire] for wire in net), key=lambda place: abs(place - at))
                reach = room if len(wires) == 1 else 2 if len(nets) == 1 else 0
                if item.framed and abs(near - at) <= reach and first <= near < first + room:
                    at = near
                for wire in net:
                    port = item.port(wire.number) if wire.number in item.ports else at
                    if below:
                        wire.start = port
                    else:
                        wire.end = port

    # ------------------------------------------------------------------------------------------------------ drawing

    def _drawn(self) -> Plan:
        """Return the plan: the layers, and the wires in the gaps between them."""
        plan = Plan(breadth=max(item.across + item.breadth for layer in self._layers for item in layer))
        for number, layer in enumerate(self._layers):
            wires = [wire for item in layer for wire in item.above if wire.stroke]
            nets = _nets(wires)
            track = tracks({net: [(wire.start, wire.end) for wire in shared] for net, shared in nets.items()})
            count = max(track.values(), default=-1) + 1
            down = self._metric.down
            before = any(wire.tail for wire in wires) + (0 if down else 1)
            after = any(wire.head for wire in wires) + (0 if down else 1)
            gap, step = plan.length, 1 if down else 2
            length = max(item.length for item in layer)
            if number:
                plan.length += max(min(1, length), before + (max(0, (count - 1) * step + 1)) + after)
            for item in layer:
                item.along = plan.length + (length - item.length) // 2
                self._draw(plan, item)
            for net, shared in nets.items():
                for wire in shared:
                    self._lead(plan, wire, gap + before + step * track.get(net, 0))
            plan.length += length
        return plan

    def _draw(self, plan: Plan, item: _Item) -> None:
        """Draw an item, with what is in it and the loop beside it."""
        if item.node or item.inner or item.rows:
            group = item.inner is not None
            plan.boxes.append(
                Box(item.along, item.across, item.length, item.body, item.rows, node=item.node, group=group)
            )
        if item.inner:
            along, across = self._metric.border
            plan.take(item.inner, item.along + along, item.across + across)
        if item.loops:
            start, end, edge = item.along + 1, item.along + item.length - 2, item.across + item.body - 1
            corners = [(start, edge), (start, edge + 2), (end, edge + 2), (end, edge + 1)]
            plan.wires += [(*one, *other, "solid") for one, other in pairwise(corners)]
            plan.heads.append((end, edge + 1, ARROW, INWARD))
            if words := ", ".join(filter(None, item.loops)):
                length, breadth = self._metric.size([words])
                plan.boxes.append(Box(start, edge + (4 if self._metric.down else 3), length, breadth, [words]))

    def _lead(self, plan: Plan, wire: _Wire, track: int) -> None:
        """Draw a wire, which changes its place on a track."""
        border = self._metric.border[0]
        upper, lower = wire.upper, wire.lower
        start, end = upper.along, lower.along
        if upper in self.ports.values():
            start -= border
        elif upper.solid:
            start += upper.length - (0 if wire.tail else 1)
        if lower in self.ports.values():
            end += border - 1
        elif lower.solid and wire.head:
            end -= 1
        stroke = wire.stroke or "solid"
        if wire.start == wire.end:
            track = end
        plan.wires += [
            (start, wire.start, track, wire.start, stroke),
            (track, wire.start, track, wire.end, stroke),
            (track, wire.end, end, wire.end, stroke),
        ]
        if wire.tail:
            plan.heads.append((start, wire.start, wire.tail, BACK))
        if wire.head:
            plan.heads.append((end, wire.end, wire.head, AHEAD))


def _nets(wires: Sequence[_Wire]) -> dict[tuple[bool, int], list[_Wire]]:
    """Return the wires by the end that they share: the upper one if several come from there, else the lower."""
    sources = Counter(wire.start for wire in wires)
    nets: dict[tuple[bool, int], list[_Wire]] = {}
    for wire in wires:
        shared = sources[wire.start] > 1
        nets.setdefault((shared, wire.start if shared else wire.end), []).append(wire)
    return nets


def _mean(values: Sequence[float], default: float) -> float:
    return sum(values) / len(values) if values else default
