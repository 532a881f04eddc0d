"""The scratch folder of a vector: ``${ROOT}`` with the files of ``in.tree``."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.conformance.outcome import equal

MARK = "${ROOT}"


@contextmanager
def scratch(tree: Mapping[str, Any] = {}) -> Iterator[Path]:
    """Make the folder, fill it, remove it again. Text is a file, None an empty folder, ``{"link": target}`` a link."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(os.path.realpath(folder)) / "root"
        root.mkdir()
        for name, content in tree.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            match content:
                case None:
                    path.mkdir(exist_ok=True)
                case {"link": target}:
                    path.symlink_to(rooted(target, root))
                case _:
                    path.write_bytes(rooted(content, root).encode())
        yield root


def rooted(value: Any, root: Path) -> Any:
    """Return JSON with the real folder in place of ``${ROOT}``."""
    match value:
        case str():
            return value.replace(MARK, str(root))
        case list():
            return [rooted(item, root) for item in value]
        case dict():
            return {rooted(key, root): rooted(item, root) for key, item in value.items()}
        case _:
            return value


def expect(case: Mapping[str, Any], compute: Callable[[], Any], root: Path | None = None) -> None:
    """Compare what `compute` gives with ``case["out"]``; ``{"error": true}`` means that it raises with a message."""
    expected = case["out"] if root is None else rooted(case["out"], root)
    if expected == {"error": True}:
        equal(has_failed(compute), True, "error")
        return
    equal(compute(), expected)


def has_failed(compute: Callable[[], Any]) -> bool:
    """Tell whether `compute` raises; the error must have a message."""
    try:
        compute()
    except Exception as error:
        equal(bool(str(error)), True, "message of the error")
        return True
    return False
