"""A session that shows everything that a page can draw: branches, tools, pictures, summaries, labels, costs."""

from __future__ import annotations

import base64
import io
import json
from pathlib import Path
from typing import Any

BEGIN = "2026-03-02T09:{:02}:{:02}.000Z"

DIFF = """\
  8 def departures(stop, now):
  9     \"\"\"Return the next trams at a stop.\"\"\"
-10     return [t for t in timetable(stop) if t.time > now]
+10     later = [t for t in timetable(stop) if t.time >= now]
+11     return sorted(later, key=lambda t: t.time)
 12
    ...
-31 LIMIT = 5
+31 LIMIT = 8"""

ANSWER = """\
The board skipped trams that leave **this very minute**, and it did not sort what the two feeds deliver.

## What I changed

1. `departures` keeps a tram that leaves now (`>=` instead of `>`)
2. The list is sorted by time, *not* by the order of the feeds
   - ties keep the order of the timetable
3. The board shows eight rows

```python
def departures(stop, now):
    \"\"\"Return the next trams at a stop.\"\"\"
    later = [t for t in timetable(stop) if t.time >= now]
    return sorted(later, key=lambda t: t.time)  # feeds come in any order
```

| stop | before | after |
| --- | ---: | ---: |
| Harbour | 4 | 5 |
| Old Mill | 7 | 8 |

> All 24 tests pass. See <https://docs.example/board> for the format of the feeds.
"""

TEST_OUTPUT = "\n".join(
    [
        "============================= test session starts ==============================",
        "collected 24 items",
        "",
        *(f"tests/test_board.py::test_rule_{number:02} PASSED" for number in range(1, 23)),
        "tests/test_board.py::test_now FAILED",
        "    assert departures('Harbour', at('12:04')) == ['2', '5', '9']",
        "E   AssertionError: ['5', '9'] != ['2', '5', '9']",
        "========================= 1 failed, 23 passed in 0.31s =========================",
    ]
)

SOURCE = '''\
"""The board at a tram stop."""

from feeds import timetable

LIMIT = 5


def departures(stop, now):
    """Return the next trams at a stop."""
    return [t for t in timetable(stop) if t.time > now]
'''


def picture(width: int = 320, height: int = 120) -> str:
    """Return a small PNG as base64."""
    from PIL import Image, ImageDraw

    image = Image.new("RGB", (width, height), "#16324a")
    draw = ImageDraw.Draw(image)
    for row, length in enumerate((190, 230, 150)):
        draw.rounded_rectangle((20, 20 + 30 * row, 20 + length, 38 + 30 * row), 4, fill="#e3b86a")
    file = io.BytesIO()
    image.save(file, "PNG")
    return base64.b64encode(file.getvalue()).decode()


class SessionWriter:
    """Writes the lines of a session file; every entry hangs on the last one unless it says otherwise."""

    def __init__(self, cwd: str = "/home/mira/tram-board") -> None:
        self.lines: list[dict[str, Any]] = [
            {"type": "session", "version": 3, "id": "0195-tram", "timestamp": BEGIN.format(0, 0), "cwd": cwd}
        ]
        self.last: str | None = None

    def add(self, type: str, *, id: str = "", on: str | None = "", **fields: Any) -> str:
        number = len(self.lines)
        entry = {
            "type": type,
            "id": id or f"{number:08x}",
            "parentId": self.last if on == "" else on,
            "timestamp": BEGIN.format(number // 4 % 60, number * 13 % 60),
        }
        self.lines.append(entry | fields)
        self.last = str(entry["id"])
        return self.last

    def user(self, content: Any, **place: Any) -> str:
        return self.add("message", message={"role": "user", "content": content, "timestamp": 0}, **place)

    def answer(self, *blocks: Any, tokens: tuple[int, int, int] = (0, 0, 0), **more: Any) -> str:
        content = [{"type": "text", "text": block} if isinstance(block, str) else block for block in blocks]
        read, written, cached = tokens
        cost = (read * 3 + written * 15 + cached * 0.3) / 1e6
        usage = {
            "input": read,
            "output": written,
            "cacheRead": cached,
            "cacheWrite": 0,
            "totalTokens": read + written + cached,
            "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": cost},
        }
        place = {name: more.pop(name) for name in ("id", "on") if name in more}
        message = {"role": "assistant", "content": content, "api": "a", "provider": "anthropic", "timestamp": 0}
        message |= {"model": "claude-sonnet-5", "usage": usage, "stopReason": "stop"} | more
        return self.add("message", message=message, **place)

    def result(self, call: str, tool: str, content: Any, **more: Any) -> str:
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        message = {"role": "toolResult", "toolCallId": call, "toolName": tool, "content": blocks, "isError": False}
        return self.add("message", message=message | {"timestamp": 0} | more)

    def write(self, path: Path) -> Path:
        path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in self.lines), encoding="utf-8")
        return path


def call(id: str, name: str, **arguments: Any) -> dict[str, Any]:
    return {"type": "toolCall", "id": id, "name": name, "arguments": arguments}


def showcase() -> SessionWriter:
    """Return a session of a few turns about a board of trams."""
    one = SessionWriter()
    one.add("model_change", provider="anthropic", modelId="claude-sonnet-5")
    one.add("thinking_level_change", thinkingLevel="medium")
    one.add("session_info", name="The tram board skips departures")
    one.user("The board at *Harbour* skips the tram that leaves right now. Find out why and repair it.", id="ask")
    one.answer(
        {"type": "thinking", "thinking": "The comparison may be strict. First the tests, then `departures`."},
        "I run the tests first and look at the board.",
        call("c1", "bash", command="pytest -q", timeout=60),
        call("c2", "read", path="/home/mira/tram-board/board.py", offset=1, limit=10),
        tokens=(3200, 240, 0),
        id="look",
    )
    one.result("c1", "bash", f"{TEST_OUTPUT}\n\nCommand exited with code 1", isError=True, durationMs=1840)
    one.result("c2", "read", SOURCE)
    fork = one.answer(
        "The comparison is strict, so a tram at 12:04 is gone at 12:04.",
        call("c3", "edit", path="/home/mira/tram-board/board.py", edits=[]),
        call("c4", "grep", pattern="LIMIT", path="/home/mira/tram-board", glob="*.py"),
        tokens=(900, 310, 3300),
    )
    one.result("c3", "edit", "Edited board.py.", details={"diff": DIFF, "firstChangedLine": 10})
    one.result("c4", "grep", "board.py:5:LIMIT = 5\nboard.py:22:    return rows[:LIMIT]")
    one.answer(ANSWER, tokens=(700, 520, 4600), id="done")
    one.user("Would a set be faster?", on=fork, id="aside")
    one.answer("Not for forty rows; the sort is what you want to keep.", tokens=(200, 60, 4500), id="aside-answer")
    one.add("branch_summary", on="done", fromId="aside-answer", summary="Asked whether a *set* is faster: it is not.")
    one.user([{"type": "text", "text": "Here is a photo of the board."}, image()], id="photo")
    one.answer("Five rows fit; I set the limit to eight.", call("c5", "write", path="notes.md", content=notes()))
    one.result("c5", "write", "Wrote notes.md")
    one.answer("Written down.", tokens=(1500, 90, 5200), id="written")
    one.add("compaction", summary="## Goal\n\nRepair the board.\n\n- the sort is in", tokensBefore=48_210, id="compact")
    one.add("label", targetId="ask", label="the question")
    one.add("message", message={"role": "bashExecution", "command": "git push", "output": "rejected", "exitCode": 1})
    one.add("custom_message", customType="reminder", content="Deploy on *Friday*.", display=True)
    one.add("custom_message", customType="whisper", content="Only for the model.", display=False, id="whisper")
    one.add("custom", customType="todo", data={"items": ["deploy"]})
    one.user("Thanks! What is left?", id="last-question")
    one.answer("Only the deployment: push again when the review is in.", tokens=(400, 40, 2100), id="end")
    return one


def image() -> dict[str, Any]:
    return {"type": "image", "data": picture(), "mimeType": "image/png"}


def notes() -> str:
    return "# Notes\n\n" + "\n".join(f"- row {number} of the board" for number in range(1, 30)) + "\n"
