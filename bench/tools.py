"""What searching a large tree and working on a large file cost: time and memory.

Searches run on 50,000 files, with ripgrep alone beside them in the same run; a file of 50 MB is read and edited. Every
piece of work runs in a process of its own, so that its peak of memory is its own; the cost of an idle one is taken off.
"""

from __future__ import annotations

import asyncio
import json
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from piolet.agent.arguments import prepare
from piolet.base.abort import AbortController
from piolet.harness.environments.local import LocalEnvironment
from piolet.harness.tools import built_in_tools
from piolet.llm.messages import TextContent, ToolCall

FOLDERS, FILES = 500, 100
BIG_MB = 50
RIPGREP = ["rg", "--no-config", "--hidden", "--sort=path"]
#: Seconds and megabytes over idle that each piece of work may take.
BOUNDS = {
    "grep with ripgrep": (3.0, 40),
    "grep in Python": (20.0, 40),
    "grep in Python, with repetition": (20.0, 40),
    "find": (5.0, 60),
    "read the start": (1.0, 20),
    "read near the end": (1.0, 20),
    "edit one place": (3.0, 300),
    "edit a hundred places": (5.0, 300),
    "edit loosely": (8.0, 500),
    "edit one long line": (8.0, 800),
}


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="piolet-bench-") as folder:
        tree, big = Path(folder, "tree"), Path(folder, "big")
        grow(tree)
        print(f"{FOLDERS * FILES} files")
        if shutil.which("rg"):
            alone("ripgrep alone, contents", [*RIPGREP, "needle4[0-9]", "./"], tree)
            alone("ripgrep alone, names", [*RIPGREP, "--files", "--glob=*7.py", "./"], tree)
            run("grep with ripgrep", tree, "grep", {"pattern": "needle4[0-9]"})
        run("grep in Python", tree, "grep", {"pattern": "needle4[0-9]"}, python=True)
        run("grep in Python, with repetition", tree, "grep", {"pattern": r"needle\s*4\d+"}, python=True)
        run("find", tree, "find", {"pattern": "*7.py"})
        big.mkdir()
        print(f"a file of {BIG_MB} MB")
        for name, text in (("lines", many_lines()), ("line", "START" + "0123456789abcdef" * (BIG_MB << 16) + "END\n")):
            (big / name).write_text(text, encoding="utf-8")
        run("read the start", big, "read", {"path": "lines"})
        run("read near the end", big, "read", {"path": "lines", "offset": 700_000, "limit": 10})
        run("edit one place", big, "edit", {"path": "lines", "edits": [place(350_000)]})
        run("edit a hundred places", big, "edit", {"path": "lines", "edits": [place(i * 7_001) for i in range(100)]})
        run("edit loosely", big, "edit", {"path": "lines", "edits": [place(499_999, "“{}”")]})
        run("edit one long line", big, "edit", {"path": "line", "edits": [{"oldText": "START0", "newText": "BEGIN"}]})


def grow(tree: Path) -> None:
    """Make the tree: sources of about 1 KB, one in a thousand with what is searched for."""
    rng = random.Random(1)
    words = ["return", "value", "for", "in", "items", "def", "class", "self", "import", "none"]
    for number in range(FOLDERS):
        folder = tree / f"package{number % 25}" / f"module{number}"
        folder.mkdir(parents=True)
        for file in range(FILES):
            lines = [" ".join(rng.choices(words, k=8)) for _ in range(20)]
            if (number * FILES + file) % 1000 == 7:
                lines[10] = f"needle{number}"
            (folder / f"file{file}.py").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (tree / ".gitignore").write_text("*.pyc\nbuild/\n/dist\n", encoding="utf-8")
    (tree / ".git").mkdir()


def many_lines() -> str:
    lines = BIG_MB * 1_000_000 // 70
    return "".join(
        f"line {number:07d} says “{number}” and goes on with some words of text\n" for number in range(lines)
    )


def place(number: int, quoted: str = "") -> dict[str, str]:
    """Return an edit of one line; `quoted` gives the number in quotes that the file has not."""
    if quoted:
        return {"oldText": f'{number:07d} says "{number}"', "newText": "changed"}
    return {"oldText": f"line {number:07d} ", "newText": f"LINE {number:07d}\n"}


def alone(name: str, argv: list[str], folder: Path) -> None:
    started = time.monotonic()
    subprocess.run(argv, cwd=folder, stdout=subprocess.DEVNULL, check=True)
    print(f"  {name:34} {time.monotonic() - started:6.2f} s")


def run(name: str, folder: Path, tool: str, arguments: dict[str, Any], *, python: bool = False) -> None:
    idle = child(folder, "ls", {"path": "."}, python=python)
    seconds, megabytes, lines = child(folder, tool, arguments, python=python)
    most_seconds, most_megabytes = BOUNDS[name]
    over = max(0.0, megabytes - idle[1])
    verdict = "ok" if seconds <= most_seconds and over <= most_megabytes else "MISSED"
    bounds = f"<= {most_seconds:g} s, {most_megabytes} MB: {verdict}"
    print(f"  {name:34} {seconds:6.2f} s, {over:5.0f} MB, {lines} lines shown, {bounds}")


def child(folder: Path, tool: str, arguments: dict[str, Any], *, python: bool) -> tuple[float, float, int]:
    """Make one call in a fresh process; return its seconds, its peak of memory in MB, and the lines of its text."""
    argv = [sys.executable, "-m", "bench.tools", str(folder), tool, json.dumps(arguments), "python" if python else ""]
    seconds, megabytes, lines = subprocess.run(argv, capture_output=True, check=True, text=True).stdout.split()
    return float(seconds), float(megabytes), int(lines)


async def call(folder: str, name: str, arguments: dict[str, Any], python: bool) -> None:
    tool = built_in_tools(LocalEnvironment(folder, use_ripgrep=not python))[name]
    prepared = prepare(tool, ToolCall("1", name, arguments))
    started = time.monotonic()
    result = await tool.execute("1", prepared, AbortController().signal, lambda update: None)
    seconds = time.monotonic() - started
    lines = sum(block.text.count("\n") + 1 for block in result.content if isinstance(block, TextContent))
    print(seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, lines)


if __name__ == "__main__":
    asyncio.run(call(sys.argv[1], sys.argv[2], json.loads(sys.argv[3]), bool(sys.argv[4])))
