"""One process of a long conversation: opens a session file and talks until it is killed or has made its turns.

    python -m tests.harness.long_talk AGENT_FOLDER SESSION_FILE SEED TURNS

It tells on stdout, a JSON object a line: ``{"entry": ID}`` for each message when it is stored, ``{"turn": {...}}`` with
the measures of each turn, ``{"done": true}`` at the end.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
import time
from pathlib import Path
from typing import Any

from piolet.agent.tools import AgentTool, OnUpdate, ToolResult
from piolet.base.abort import AbortSignal
from piolet.harness.compaction.estimate import sum_of_tokens
from piolet.harness.environments.local import LocalEnvironment
from piolet.harness.errors import HarnessError
from piolet.harness.harness import AgentHarness
from piolet.harness.session.session import Session
from piolet.llm.models import Models
from piolet.llm.overflow import is_overflow_text

SCHEMA = {"type": "object", "properties": {"chars": {"type": "integer"}}}


async def _look(id: str, arguments: dict[str, Any], signal: AbortSignal, update: OnUpdate) -> ToolResult:
    return ToolResult.of_text("line\n" * (arguments["chars"] // 5))


class Talk:
    def __init__(self, agent_folder: str, session_file: str, seed: int) -> None:
        self.rng = random.Random(seed)
        self.models = Models.open(Path(agent_folder), environ={})
        model = self.models.find("stub", "m")
        assert model is not None
        self.window = model.context_window
        self.harness = AgentHarness(
            models=self.models,
            model=model,
            environment=LocalEnvironment(Path(agent_folder)),
            session=Session.open(session_file),
            tools=[AgentTool("look", "Looks at something.", SCHEMA, _look)],
        )
        self.harness.subscribe(self.tell)
        self.turns = 0

    def tell(self, event: Any) -> None:
        session = self.harness.session
        if event.type in ("message_end", "session_compact", "entry_appended"):
            say(entry=session.leaf_id)
        elif event.type == "turn_end":
            self.turns += 1
            begin = time.process_time()
            session.build_context()
            build = time.process_time() - begin
            tokens = sum_of_tokens(self.harness.agent.messages)
            say(turn={"tokens": tokens, "build_ms": build * 1000, "entries": len(session.heads)})

    async def run(self, turns: int) -> None:
        while self.turns < turns:
            await self.step()
        await self.harness.close()
        await self.models.aclose()
        say(done=True)

    async def step(self) -> None:
        harness, rng = self.harness, self.rng
        chance = rng.random()
        if chance < 0.06 and harness.session.heads:
            target = rng.choice(harness.session.heads).id
            await harness.navigate_tree(target, summarize=rng.random() < 0.5)
            return
        if chance < 0.08:
            try:
                await harness.compact()
            except HarnessError:
                pass
            return
        if chance < 0.15:
            await harness.follow_up("And then? " * rng.randrange(20))
        aborts = rng.random() < 0.1
        run = asyncio.create_task(harness.prompt("Please go on. " * rng.choice([1, 5, 50, 400])))
        if aborts:
            await asyncio.sleep(rng.uniform(0, 0.05))
            await harness.abort()
        result = await run
        final = result.final
        assert final is not None
        said = final.error_message or ""
        assert not is_overflow_text(said), f"an overflow reached the user: {said}"
        assert aborts or result.outcome == "completed", said
        tokens = sum_of_tokens(harness.agent.messages)
        assert tokens <= self.window, f"{tokens} tokens in the context"


def say(**what: Any) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    folder, file, number, count = sys.argv[1:]
    asyncio.run(Talk(folder, file, int(number)).run(int(count)))
