"""A process that appends to a session: ``python -m tests.harness.session.writer PATH COUNT TAG``.

It tells the id of each entry when its append has returned, so that a test knows what was acknowledged.
"""

from __future__ import annotations

import random
import sys

from piolet.base.ids import now_ms
from piolet.harness.session.session import Session
from piolet.llm.messages import UserMessage


def main(path: str, count: str, tag: str) -> None:
    session = Session.open(path)
    lengths = random.Random(tag)
    for number in range(int(count)):
        text = f"{tag} {number} ".ljust(lengths.randint(5, 9000), "x")
        print(session.append_message(UserMessage(text, now_ms())), flush=True)
    session.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
