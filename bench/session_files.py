"""Session files as long work makes them: prompts, answers, tool calls, files that were read."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from piolet.base.ids import iso_time
from piolet.base.json import encode

COST = {"input": 0.003, "output": 0.0021, "cacheRead": 0.001, "cacheWrite": 0, "total": 0.0061}
USAGE = {"input": 1000, "output": 200, "cacheRead": 5000, "cacheWrite": 0, "totalTokens": 6200, "cost": COST}
#: Characters that a tool gives back: a short answer, a search, a file, a long file.
RESULTS = (500, 3000, 12_000, 40_000)


def write_session(path: Path, size: int, cwd: Path, *, compact_every: int | None = None, seed: int = 1) -> int:
    """Write a session of about `size` bytes that begins now; return the number of its entries.

    With `compact_every`, a compaction stands after that many bytes, again and again, and at the end.
    """
    writer = _Writer(random.Random(seed))
    written = since = 0
    with path.open("wb") as file:
        header = {"type": "session", "version": 3, "id": f"bench-{seed}", "timestamp": iso_time(), "cwd": str(cwd)}
        file.write(encode(header) + b"\n")
        while written < size:
            text = writer.turn()
            file.write(text)
            written += len(text)
            since += len(text)
            if compact_every is not None and (since > compact_every or written >= size):
                file.write(writer.compaction())
                since = 0
    return writer.count


class _Writer:
    def __init__(self, randomly: random.Random) -> None:
        self.count = 0
        self._random = randomly
        self._ids: list[str] = []
        letters = "abcdefghijklmnopqrstuvwxyz"
        self._words = ["".join(randomly.choices(letters, k=randomly.randint(2, 9))) for _ in range(3000)]

    def turn(self) -> bytes:
        """Return a prompt, some tool calls with their results, and the answer."""
        lines = [self._message(role="user", content=self._blocks(300))]
        for _ in range(self._random.randint(1, 6)):
            call = {"type": "toolCall", "id": f"call_{self.count}", "name": "read", "arguments": {"path": "src/a.py"}}
            lines.append(self._answer([*self._blocks(400), call], "toolUse"))
            content = self._blocks(self._random.choice(RESULTS))
            lines.append(
                self._message(role="toolResult", toolCallId=call["id"], toolName="read", content=content, isError=False)
            )
        lines.append(self._answer(self._blocks(600), "stop"))
        return b"".join(lines)

    def compaction(self) -> bytes:
        return self._entry("compaction", summary="What was done.", firstKeptEntryId=self._ids[-4], tokensBefore=150_000)

    def _answer(self, content: list[dict[str, Any]], stop: str) -> bytes:
        model = {"api": "openai-completions", "provider": "stub", "model": "m1", "usage": USAGE, "stopReason": stop}
        return self._message(role="assistant", content=content, **model)

    def _message(self, **message: Any) -> bytes:
        return self._entry("message", message=message | {"timestamp": 1_767_225_600_000 + self.count * 1000})

    def _entry(self, kind: str, **fields: Any) -> bytes:
        parent = self._ids[-1] if self._ids else None
        self.count += 1
        id = f"{self.count * 2_654_435_761 % 2**32:08x}"
        self._ids.append(id)
        time = iso_time(1_767_225_600_000 + self.count * 1000)
        return encode({"type": kind, "id": id, "parentId": parent, "timestamp": time, **fields}) + b"\n"

    def _blocks(self, length: int) -> list[dict[str, Any]]:
        words = self._random.choices(self._words, k=length // 6)
        return [{"type": "text", "text": "\n".join(" ".join(words[at : at + 9]) for at in range(0, len(words), 9))}]
