from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import piolet.tui

ROOT = Path(piolet.tui.__file__).parent
PURE = sorted(
    "piolet.tui." + ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for path in ROOT.rglob("*.py")
    if path.name != "__init__.py" and "widgets" not in path.parts
)


def test_the_pure_part_loads_no_toolkit_and_nothing_heavy() -> None:
    program = f"import sys, {', '.join(PURE)}; print(*sys.modules)"
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={"PYTHONPATH": str(ROOT.parents[1])})
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert "piolet" in loaded
    assert loaded & {"textual", "rich", "pygments", "markdown_it", "asyncio"} == set()
