"""``python -m tests.conformance GROUP PATH``: apply every vector under PATH (a folder or one file).

One line ``FAIL name: why`` each, ``SKIP name: why`` for what cannot be checked here; last line
``N passed, N failed, N skipped``; exit 0 only without failures. A group is a module here with ``check(path)``,
an iterator of outcomes for one file.
"""

from __future__ import annotations

import importlib
import sys
from collections import Counter
from pathlib import Path

GROUPS = ("sessions", "resources", "modes", "cassettes", "cases")


def main(argv: list[str]) -> int:
    if len(argv) != 2 or argv[0] not in GROUPS or not Path(argv[1]).exists():
        print(f"usage: python -m tests.conformance {{{','.join(GROUPS)}}} PATH", file=sys.stderr)
        return 2
    group, root = importlib.import_module(f"tests.conformance.{argv[0]}"), Path(argv[1])
    files = [root] if root.is_file() else sorted(root.rglob("*.json"))
    counts: Counter[str] = Counter()
    for file in files:
        for outcome in group.check(file):
            counts[outcome.status] += 1
            if outcome.status != "passed":
                print(f"{'FAIL' if outcome.status == 'failed' else 'SKIP'} {outcome.name}: {outcome.why}", flush=True)
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
