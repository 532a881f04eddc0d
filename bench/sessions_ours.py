"""Our side of `bench.sessions`, with nothing else in the process. Prints its numbers as JSON."""

from __future__ import annotations

import os
import re
import resource
import sys
import time
from pathlib import Path

from piolet.base.json import dumps
from piolet.harness.session.places import SessionPlace
from piolet.harness.session.session import Session
from piolet.llm.messages import TextContent, UserMessage


def main(job: str, path: str, count: str) -> None:
    begin = time.perf_counter()
    things = 0
    match job:
        case "context":
            context = Session.open(path).build_context()
            things = len(context.messages)
        case "list":
            things = len(SessionPlace.of(os.getcwd(), "/", path).sessions())
        case _:
            session = Session.open(path)
            for number in range(int(count)):
                session.append_message(UserMessage([TextContent(f"message {number}")], time.time_ns() // 1_000_000))
                things += 1
    seconds = time.perf_counter() - begin
    print(dumps({"things": things, "seconds": seconds, "mb": peak_mb()}))


def peak_mb() -> float:
    """Return the peak resident set. Linux hands ``ru_maxrss`` of the parent down to a new program; VmHWM is its own."""
    status = Path("/proc/self/status")
    if status.exists():
        return int(re.search(r"VmHWM:\s+(\d+)", status.read_text())[1]) / 1e3
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)


if __name__ == "__main__":
    main(*sys.argv[1:])
