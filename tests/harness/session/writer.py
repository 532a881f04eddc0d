"""A process that appends to a session: ``python -m tests.harness.session.writer PATH COUNT TAG``.

It tells the id of each entry when its append has returned, so that a test knows what was acknowledged.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

from piolet.base.ids import now_ms
from piolet.harness.session.session import Session
from piolet.llm.messages import UserMessage
from tests.support.run import ROOT


def start_writer(path: Path, count: int, tag: str) -> subprocess.Popen[str]:
    """Start such a process; its stdout is a pipe."""
    argv = [sys.executable, "-m", "tests.harness.session.writer", str(path), str(count), tag]
    env = os.environ | {"PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
    return subprocess.Popen(argv, env=env, stdout=subprocess.PIPE, text=True)


def main(path: str, count: str, tag: str) -> None:
    session = Session.open(path)
    session.begin()
    lengths = random.Random(tag)
    for number in range(int(count)):
        text = f"{tag} {number} ".ljust(lengths.randint(5, 9000), "x")
        print(session.append_message(UserMessage(text, now_ms())), flush=True)
    session.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
