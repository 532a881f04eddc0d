"""Tree, labels, path and children."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from piolet.harness.session.session import Session
from piolet.harness.session.tree import TreeNode
from tests.conformance.sessions.keeping import keeping
from tests.conformance.sessions.vectors import Matcher, file_bytes


def plain_tree(roots: Sequence[TreeNode]) -> list[dict[str, Any]]:
    """Return the tree in the form of the vectors."""
    plain = []
    for node in roots:
        item: dict[str, Any] = {"id": node.id, "children": plain_tree(node.children)}
        if node.label is not None:
            item |= {"label": node.label, "labelTimestamp": node.label_timestamp}
        plain.append(item)
    return plain


def tree(vector: dict[str, Any]) -> None:
    with _session(vector) as session:
        Matcher().match({"roots": plain_tree(session.tree())}, vector["expected"])


def labels(vector: dict[str, Any]) -> None:
    with _session(vector) as session:
        shown = {id: label.text if (label := session.labels.get(id)) else None for id in vector["input"]["ids"]}
        Matcher().match({"labels": shown, "name": session.name}, vector["expected"])


def branch(vector: dict[str, Any]) -> None:
    given = vector["input"]
    with _session(vector) as session:
        children = {
            "null" if id is None else id: [entry.id for entry in session.children(id)] for id in given["childrenOf"]
        }
        path = [entry.id for entry in session.path_to(given["fromId"])]
        Matcher().match({"path": path, "children": children}, vector["expected"])


@contextmanager
def _session(vector: dict[str, Any]) -> Iterator[Session]:
    with tempfile.TemporaryDirectory() as folder, keeping().put(file_bytes(vector["input"]), folder) as session:
        yield session


OPS = {"tree": tree, "labels": labels, "branch": branch}
