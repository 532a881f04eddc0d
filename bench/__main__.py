"""``python -m bench NAME``: run one benchmark; without a name, list them. Each is a module here with ``main()``, which
takes the arguments behind the name if there may be any."""

from __future__ import annotations

import importlib
import sys

NAMES = {
    "extensions": "what fifty extensions cost at the start",
    "harness": "what a thousand harnesses in one process cost, how fast they are",
    "sessions": "what long sessions cost to open, list, append to and go on with",
    "startup": "how soon the command answers, what a small job costs, what an installation takes",
    "stream": "what an answer costs while it streams",
    "tui": "how soon the terminal takes a prompt and shows a key in a long session, what it costs (--help: variants)",
    "tools": "what searching a large tree and working on a large file cost",
}


def main(argv: list[str]) -> int:
    if not argv or argv[0] not in NAMES:
        for name, what in NAMES.items():
            print(f"{name:10} {what}")
        return 0 if not argv else 2
    importlib.import_module(f"bench.{argv[0]}").main(*argv[1:])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
