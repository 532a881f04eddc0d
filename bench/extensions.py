"""What fifty loaded extensions cost at the start, beyond what their own modules take to import.

Each registers a tool, a command, a flag and handlers of three events. Measured is the CPU time of a start that ends at
once (print mode without a prompt), with and without them, in turn, and that of executing the fifty modules alone.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from bench.startup import run, verdict
from tests.support.run import ROOT, Place

COUNT, RUNS, MOST = 50, 15, 0.15

CODE = '''\
from __future__ import annotations

from piolet.ext import BeforeAgentStart, CommandContext, ExtensionAPI, ExtensionContext, SessionStart, ToolCallEvent


def extension(pi: ExtensionAPI) -> None:
    pi.register_flag("flag-{n}", type="boolean", description="a flag")

    @pi.on("session_start")
    def start(event: SessionStart, ctx: ExtensionContext) -> None:
        ctx.ui.set_status("status-{n}", "ready")

    @pi.on("before_agent_start")
    async def begin(event: BeforeAgentStart, ctx: ExtensionContext) -> None: ...

    @pi.on("tool_call")
    def guard(event: ToolCallEvent, ctx: ExtensionContext) -> None: ...

    @pi.tool(default_active=False)
    def tool_{n}(path: str, count: int = 1) -> str:
        """Does something."""
        return path * count

    @pi.command("command-{n}")
    async def command(args: str, ctx: CommandContext) -> None:
        """Does something."""
'''

START = """\
import sys
sys.path.insert(0, sys.argv.pop(1))
from piolet.cli.main import main
sys.exit(main())
"""
IMPORTS = """\
import importlib.util, sys, time
import piolet.app.runtime, piolet.ext
from piolet.ext import BeforeAgentStart, CommandContext, ExtensionAPI, ExtensionContext, SessionStart, ToolCallEvent
begin = time.process_time()
for number, path in enumerate(sys.argv[1:]):
    spec = importlib.util.spec_from_file_location(f"own_{number}", path)
    spec.loader.exec_module(importlib.util.module_from_spec(spec))
print(time.process_time() - begin)
"""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        without, with_them = (_place(Path(folder) / name) for name in ("without", "with"))
        files = [with_them.agent / "extensions" / f"e{number:02}.py" for number in range(COUNT)]
        files[0].parent.mkdir(parents=True)
        for number, file in enumerate(files):
            file.write_text(CODE.format(n=number), encoding="utf-8")
        rounds = [(_start(without), _start(with_them), _own_imports(files)) for _ in range(RUNS + 1)][1:]
    base, loaded, own = (median(times) for times in zip(*rounds, strict=True))
    share = (loaded - base - own) / base
    print(f"medians of {RUNS} runs, Python {sys.version.split()[0]}, CPU time")
    print(f"without extensions            {base * 1000:7.1f} ms")
    print(f"with {COUNT}                       {loaded * 1000:7.1f} ms")
    print(f"their own modules             {own * 1000:7.1f} ms")
    print(f"the rest, of the start        {share:7.1%}     <= {MOST:.0%}: {verdict(share <= MOST)}")


def _place(folder: Path) -> Place:
    folder.mkdir()
    return Place.below(folder)


def _start(place: Place) -> float:
    return run(place, [sys.executable, "-c", START, str(ROOT / "src"), "-p", "--model", "demo/scripted"]).cpu


def _own_imports(files: list[Path]) -> float:
    command = [sys.executable, "-c", IMPORTS, *map(str, files)]
    env = {"PYTHONPATH": str(ROOT / "src"), "PATH": "/usr/bin:/bin"}
    return float(subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout)
