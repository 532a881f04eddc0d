"""Keys pressed at random: whatever is open, the program goes on."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from piolet.modes.interactive.commands.table import COMMANDS
from piolet.tui.keymap import DEFAULT_KEYS
from tests.modes.interactive.desk import opened
from tests.support.scripted_model import call, fails, hangs, says, thinking

KEYS = sorted({key for keys in DEFAULT_KEYS.values() for key in keys if key not in ("ctrl+z", "ctrl+g", "ctrl+d")})
TEXTS = [
    "hello",
    "@a",
    "./",
    "!echo hi",
    "!!sleep 0.1",
    "/",
    "中文👩‍👩‍👧",
    "`x` **y**\n\n- z",
    "\x1b[31mred",
    "x" * 300,
]
LEFT_OUT = ("quit", "export", "import", "login", "logout", "trust")
ANSWERS = [
    says(thinking("Let me think."), "# Title\n\n- *one*\n- `two`\n\n```python\nx = 1\n```"),
    says("I look.", call("read", path="a.py"), call("bash", command="echo out; exit 1")),
    says(call("edit", path="a.py", edits=[{"oldText": "1", "newText": "2"}]), call("gone", x=1)),
    fails("400 no", "Half an"),
    hangs("Endless"),
    says("Cut", stop="length"),
]


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(int(os.environ.get("PIOLET_MONKEYS", "5"))))
async def test_random_keys_do_no_harm(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    print(f"seed {seed}")
    replies = [rng.choice(ANSWERS) for _ in range(300)]
    names = [command.name for command in COMMANDS if command.name not in LEFT_OUT]
    (tmp_path / "cwd").mkdir()
    (tmp_path / "cwd/a.py").write_text("x = 1\n")
    settings = {"retry": {"enabled": False}, "compaction": {"keepRecentTokens": 20}}
    async with opened(tmp_path, *replies, last=says("More."), settings=settings) as desk:
        desk.face.quit = lambda code=0: None  # type: ignore[method-assign]
        for _ in range(150):
            for _ in range(rng.randint(1, 6)):
                match rng.random():
                    case part if part < 0.55:
                        desk.key(rng.choice(KEYS))
                    case part if part < 0.75:
                        await desk.paste(rng.choice(TEXTS))
                        desk.key("enter")
                    case part if part < 0.85:
                        desk.type(f"/{rng.choice(names)}")
                        desk.key("enter")
                    case part if part < 0.92:
                        await desk.pilot.resize_terminal(rng.choice([1, 7, 20, 100]), rng.choice([1, 4, 10, 30]))
                    case part if part < 0.97:
                        width, height = desk.face.app.size
                        places = [(rng.randrange(width), rng.randrange(height)) for _ in range(3)]
                        await desk.pilot.mouse_down(offset=places[0])
                        await desk.pilot.hover(offset=places[1])
                        await desk.pilot.mouse_up(offset=places[rng.randrange(3)])
                    case _:
                        desk.key("escape")
            await desk.taken()
            await desk.pilot.pause()
        await desk.pilot.resize_terminal(100, 30)
        while desk.face.app.panel is not None or desk.runtime.session.is_streaming:
            desk.key("escape")
            await desk.taken()
            await desk.pilot.pause(0.05)
        desk.key("ctrl+c")
        await desk.taken()
        desk.type("still here")
        await desk.see("still here")
