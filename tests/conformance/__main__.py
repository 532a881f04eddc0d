"""``python -m tests.conformance GROUP PATH``: apply every vector under PATH (a folder or one file).

``sessions PATH --storage memory`` or ``sql`` (SQLite) keeps the sessions there and not in files.

One line ``FAIL name: why`` each, ``SKIP name: why`` for what cannot be checked here; last line
``N passed, N failed, N skipped``; exit 0 only without failures. A group is a module here with ``check(path)``,
an iterator of outcomes for one file.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections import Counter
from pathlib import Path

from tests.conformance.sessions.keeping import NAMES, kept_by_name

GROUPS = ("sessions", "resources", "modes", "cassettes", "cases")


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser("python -m tests.conformance")
    parser.add_argument("group", choices=GROUPS)
    parser.add_argument("path", type=Path)
    parser.add_argument("--storage", choices=NAMES, default="jsonl", help="where sessions are kept")
    options = parser.parse_args(argv)
    root: Path = options.path
    if not root.exists():
        parser.error(f"there is no {root}")
    files = [root] if root.is_file() else sorted(root.rglob("*.json"))
    group = importlib.import_module(f"tests.conformance.{options.group}")
    counts: Counter[str] = Counter()
    with kept_by_name(options.storage):
        for file in files:
            for outcome in group.check(file):
                counts[outcome.status] += 1
                if outcome.status != "passed":
                    print(
                        f"{'FAIL' if outcome.status == 'failed' else 'SKIP'} {outcome.name}: {outcome.why}", flush=True
                    )
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
