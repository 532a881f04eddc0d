"""Two thousand turns in a window of 32k, with branches, aborts, and processes that are killed in the middle."""

from __future__ import annotations

import json
import os
import random
import statistics
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from piolet.harness.session.session import Session
from tests.support import replies
from tests.support.run import ROOT, Place
from tests.support.server import Reply, Request, ScriptedServer

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1800)]

TURNS = 2000
KILLS = 5
WINDOW = 32_768


@dataclass
class Provider:
    """Counts the tokens of a request by its length, and refuses what is too long for the window."""

    rng: random.Random
    refused: int = 0
    summaries: int = 0
    calls: int = 0
    largest: int = field(default=0)

    def __call__(self, request: Request) -> Reply:
        if not request.content:  # its sender was gone before the end
            return {"status": 503, "json": {"error": {"message": "overloaded"}}}
        check_pairs(request.body["messages"])
        last = request.body["messages"][-1]["content"]
        text = last if isinstance(last, str) else "".join(part.get("text", "") for part in last)
        used = len(request.content) // 4
        if "<conversation>" in text or "# Conversation" in text:
            self.summaries += 1
            return replies.openai(
                "## Goal\n" + "Something. " * self.rng.randrange(20, 150), usage=self._usage(used, 200)
            )
        if used > WINDOW:
            self.refused += 1
            message = f"prompt is too long: {used} tokens > {WINDOW} maximum"
            return {"status": 400, "json": {"error": {"message": message}}}
        self.largest = max(self.largest, used)
        if self.rng.random() < 0.01:
            return {"status": 503, "json": {"error": {"message": "overloaded"}}}
        blocks: list[Any] = ["Well. " * self.rng.choice([1, 10, 100])]
        if self.rng.random() < 0.75:
            calls = self.rng.choice([1, 1, 1, 2])
            for _ in range(calls):
                self.calls += 1
                chars = self.rng.choice([100, 1000, 4000, 20_000, 60_000 // calls])
                blocks.append(replies.Call("look", {"chars": chars}, id=f"call_{self.calls}"))
        return replies.openai(*blocks, usage=self._usage(used, 50))

    def _usage(self, used: int, output: int) -> dict[str, int]:
        return {"prompt_tokens": used, "completion_tokens": output, "total_tokens": used + output}


def check_pairs(messages: list[dict[str, Any]]) -> None:
    """Fail unless each call has its result directly behind it, in order, and no result is without its call."""
    expected: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            assert expected, "a result without its call"
            assert expected.pop(0) == message["tool_call_id"]
        else:
            assert not expected, "a call without its result"
            expected = [one["id"] for one in message.get("tool_calls", ())]
    assert not expected


def talk(place: Place, file: Path, seed: int, turns: int, lines: list[dict[str, Any]], kill_after: int | None) -> bool:
    """Let a process talk; kill it after so many lines. Return whether it came to its end."""
    command = [sys.executable, "-m", "tests.harness.long_talk", str(place.agent), str(file), str(seed), str(turns)]
    environment = place.environment() | {"PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, cwd=ROOT, text=True) as process:
        assert process.stdout is not None
        for number, line in enumerate(process.stdout):
            lines.append(json.loads(line))
            if number == kill_after:
                process.kill()
    assert process.returncode == (0 if kill_after is None or lines[-1].get("done") else -9)
    return bool(lines[-1].get("done"))


def test_two_thousand_turns_in_a_small_window(place: Place) -> None:
    seed = int(os.environ.get("PIOLET_SOAK_SEED", "0")) or random.randrange(10**6)
    print(f"seed {seed}")
    rng = random.Random(seed)
    file = place.home / "session.jsonl"
    lines: list[dict[str, Any]] = []
    provider = Provider(random.Random(seed))
    with ScriptedServer(provider) as server:
        model = {"id": "m", "contextWindow": WINDOW, "maxTokens": 4096, "input": ["text"]}
        place.write_models(server.url, models=[model])
        for number in range(KILLS):
            talk(place, file, seed + number, TURNS, lines, rng.randrange(200, 800))
            check_kept(file, lines)
        made = len([line for line in lines if "turn" in line])
        assert talk(place, file, seed + KILLS, TURNS - made, lines, None)
    check_kept(file, lines)

    turns = [line["turn"] for line in lines if "turn" in line]
    assert len(turns) >= TURNS
    assert provider.refused < len(turns) / 50, "overflows are the exception"
    with Session.open(str(file)) as session:
        compactions = [head for head in session.heads if head.type == "compaction"]
        summaries = [head for head in session.heads if head.type == "branch_summary"]
    # With these sizes of results about a third of the turns fill the window.
    assert len(compactions) < len(turns) / 2, "a compaction makes room for some turns"
    assert max(turn["tokens"] for turn in turns) < 2 * WINDOW
    first, last = (statistics.median(turn["build_ms"] for turn in part) for part in (turns[100:400], turns[-300:]))
    print(
        f"{len(turns)} turns, {turns[-1]['entries']} entries, {len(compactions)} compactions, {len(summaries)} branch"
    )
    print(f"summaries, {provider.refused} overflows recovered from, largest request {provider.largest} tokens,")
    print(f"context built in {first:.2f} ms at the beginning, {last:.2f} ms at the end")
    assert last < 2 * first + 1, "building the context costs more in a longer session"


def check_kept(file: Path, lines: list[dict[str, Any]]) -> None:
    """Every entry that was told of is in the file, which is whole but for a torn last line."""
    if not file.exists():
        return
    with Session.open(str(file), read_only=True) as session:
        ids = {head.id for head in session.heads}
        assert {problem.kind for problem in session.problems} <= {"torn"}
    lost = [line["entry"] for line in lines if "entry" in line and line["entry"] not in ids]
    begun = [line["entry"] for line in lines if line.get("entry") in ids]
    assert not lost or not begun or lines.index({"entry": lost[-1]}) < lines.index({"entry": begun[0]}), lost
