"""The whole session as a tree, for screens (session format, section 7). No recursion: chains may be 100,000 deep."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct, field

from piolet.harness.session.index import Head, Index


class TreeNode(Struct, eq=False):
    """An entry and its children, in the order of their times. `label` is the one in force."""

    head: Head
    label: str | None = None
    label_timestamp: str | None = None
    children: list[TreeNode] = field(default_factory=list)

    @property
    def id(self) -> str:
        return self.head.id


def build_tree(index: Index, times: Callable[[Sequence[Head]], Sequence[int]]) -> list[TreeNode]:
    """Return the roots, in the order of the file.

    Roots are entries without parent, with themselves or an unknown id as parent, and the first of each cycle.
    `times` gives the times of siblings.
    """
    nodes = [_node(index, head) for head in index.heads]
    parents = find_parents(index)
    roots: list[TreeNode] = []
    for node, parent in zip(nodes, parents, strict=True):
        (roots if parent is None else nodes[parent].children).append(node)
    for node in nodes:
        if len(node.children) > 1:
            ages = dict(zip(map(id, node.children), times([child.head for child in node.children]), strict=True))
            node.children.sort(key=lambda child: ages[id(child)])
    return roots


def find_parents(index: Index) -> list[int | None]:
    """Return, for each entry, the place of its parent in the order of the file; None for roots. Free of cycles."""
    places = {head.id: place for place, head in enumerate(index.heads)}
    parents: list[int | None] = []
    for place, head in enumerate(index.heads):
        parent = places.get(head.parent_id) if head.parent_id else None
        parents.append(None if parent == place or head.parent_id == head.id else parent)
    for cycle in find_cycles(parents):
        parents[min(cycle)] = None
    return parents


def walk(roots: Sequence[TreeNode]) -> Iterator[tuple[TreeNode, int]]:
    """Give every node with its depth, parents before children."""
    stack = [(root, 0) for root in reversed(roots)]
    while stack:
        node, depth = stack.pop()
        yield node, depth
        stack += [(child, depth + 1) for child in reversed(node.children)]


def find_cycles(parents: Sequence[int | None]) -> list[list[int]]:
    """Return the groups of places that are their own ancestors, given the place of each one's parent."""
    done = bytearray(len(parents))
    found = []
    for start in range(len(parents)):
        trail: list[int] = []
        on_trail: dict[int, int] = {}
        place: int | None = start
        while place is not None and not done[place] and place not in on_trail:
            on_trail[place] = len(trail)
            trail.append(place)
            place = parents[place]
        if place is not None and place in on_trail:
            found.append(trail[on_trail[place] :])
        for step in trail:
            done[step] = 1
    return found


def _node(index: Index, head: Head) -> TreeNode:
    label = index.labels.get(head.id)
    return TreeNode(head) if label is None else TreeNode(head, label.text, label.timestamp)
