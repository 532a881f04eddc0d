"""The session tree as rows: which entries are seen, where they hang, how deep they stand (specification, section 8).

No recursion and no pass over ancestors per entry: sessions may be chains of 100,000 entries.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

NodeKind: TypeAlias = Literal[
    "user", "assistant", "tool", "bash", "custom_message", "compaction", "branch_summary", "bookkeeping"
]
Filter: TypeAlias = Literal["default", "no-tools", "user-only", "labeled-only", "all"]
FILTERS: tuple[Filter, ...] = ("default", "no-tools", "user-only", "labeled-only", "all")


@dataclass(frozen=True, slots=True)
class TreeNode:
    """An entry as the tree shows it; parents form no cycle. `prefix` says who speaks (``user:``), `text` what.
    `remark`: the text is a remark about the entry, not its content (``(aborted)``). `silent`: an answer that only calls
    tools, hidden unless it is the leaf. `label_ms`: when it was labelled. `search`: more words to find it by."""

    id: str
    parent: str | None
    kind: NodeKind
    text: str
    prefix: str = ""
    remark: bool = False
    silent: bool = False
    label: str = ""
    label_ms: int = 0
    search: str = ""


@dataclass(frozen=True, slots=True)
class TreeRow:
    """A row. `level`: its indent, 3 columns each; `connector`: it hangs on a branch point, as the last child or not;
    `bars`: the levels at which the line of an ancestor's siblings passes; `start`: a root or the start of a branch."""

    node: TreeNode
    level: int
    connector: Literal["", "middle", "last"]
    bars: tuple[int, ...]
    start: bool
    has_children: bool
    folded: bool
    active: bool
    parent: int | None  # the number of the row that it hangs on


def shown(node: TreeNode, filter: Filter, leaf: str | None) -> bool:
    """Whether `filter` shows `node`."""
    if node.silent and node.id != leaf:
        return False
    match filter:
        case "default":
            return node.kind != "bookkeeping"
        case "no-tools":
            return node.kind not in ("bookkeeping", "tool")
        case "user-only":
            return node.kind == "user"
        case "labeled-only":
            return bool(node.label)
        case "all":
            return True


def found(node: TreeNode, words: Sequence[str]) -> bool:
    """Whether all lower-case `words` occur in what is known of `node`."""
    if not words:
        return True
    text = f"{node.prefix}{node.text} {node.label} {node.search}".lower()
    return all(word in text for word in words)


def visible_ancestors(nodes: Sequence[TreeNode], visible: Collection[str]) -> dict[str, str | None]:
    """Return, for each node, itself if it is visible, else its nearest visible ancestor; None if there is none."""
    parents = {node.id: node.parent for node in nodes}
    known: dict[str, str | None] = {id: id for id in visible}
    for node in nodes:
        chain: list[str] = []
        at: str | None = node.id
        while at is not None and at not in known:
            known[at] = None
            chain.append(at)
            at = parents.get(at)
        answer = None if at is None else known[at]
        for id in chain:
            known[id] = answer
    return known


def active_path(nodes: Sequence[TreeNode], leaf: str | None) -> set[str]:
    """Return the ids from the root to `leaf`."""
    parents = {node.id: node.parent for node in nodes}
    path: set[str] = set()
    while leaf is not None and leaf in parents and leaf not in path:
        path.add(leaf)
        leaf = parents[leaf]
    return path


def lay_out(
    nodes: Sequence[TreeNode], leaf: str | None, wanted: Callable[[TreeNode], bool], folded: Collection[str] = ()
) -> list[TreeRow]:
    """Return the rows of the nodes that are `wanted`; the descendants of `folded` ones are left out.

    A hidden node's children hang on its nearest visible ancestor. Only children of a branch point are set in, and once
    more what follows each; the branch of `leaf` comes first.
    """
    visible = {node.id: node for node in nodes if wanted(node)}
    active = active_path(nodes, leaf)
    hangs = visible_ancestors(nodes, visible)
    children: dict[str | None, list[TreeNode]] = {}
    for node in visible.values():
        parent = None if node.parent is None else hangs.get(node.parent)
        children.setdefault(parent, []).append(node)
    for siblings in children.values():
        if len(siblings) > 1:
            siblings.sort(key=lambda node: node.id not in active)
    rows: list[TreeRow] = []
    roots = children.get(None, [])
    stack = [_Pending(node, 0, "", (), True, len(roots) > 1, None) for node in reversed(roots)]
    while stack:
        entry = stack.pop()
        below = children.get(entry.node.id, [])
        is_folded = bool(below) and entry.node.id in folded
        number = len(rows)
        rows.append(
            TreeRow(
                entry.node,
                entry.level,
                entry.connector,
                entry.bars,
                entry.start,
                bool(below),
                is_folded,
                entry.node.id in active,
                entry.parent,
            )
        )
        if is_folded or not below:
            continue
        bars = (*entry.bars, entry.level - 1) if entry.connector == "middle" else entry.bars
        if len(below) == 1:
            stack.append(_Pending(below[0], entry.level + entry.set_in, "", bars, False, False, number))
            continue
        for child in reversed(below):
            connector: Literal["middle", "last"] = "last" if child is below[-1] else "middle"
            stack.append(_Pending(child, entry.level + entry.set_in + 1, connector, bars, True, True, number))
    return rows


@dataclass(frozen=True, slots=True)
class _Pending:
    node: TreeNode
    level: int
    connector: Literal["", "middle", "last"]
    bars: tuple[int, ...]
    start: bool
    set_in: bool  # what follows stands one level deeper
    parent: int | None
