"""The pages about extensions are true: the code loads and is typed, the tables name what there is."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import piolet.ext
from piolet.app.extensions.events import ANSWERED, OBSERVED
from tests.app.extensions.stage import stage
from tests.support.run import ROOT

GUIDE = (ROOT / "docs" / "extensions.md").read_text(encoding="utf-8")
REFERENCE = (ROOT / "docs" / "extensions-reference.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)\n```", GUIDE, re.DOTALL)
EXTENSIONS = [block for block in BLOCKS if "asyncio.run(" not in block]


async def test_the_extensions_of_the_guide_load(tmp_path: Path) -> None:
    paths = [tmp_path / f"block{number}.py" for number in range(len(EXTENSIONS))]
    for path, block in zip(paths, EXTENSIONS, strict=True):
        path.write_text(block, encoding="utf-8")
    assert len(paths) >= 5
    async with stage(tmp_path, paths=paths) as made:
        assert made.faults == []
        assert {"greet", "deploy"} <= {tool.name for tool in made.runtime.session.harness.tools}
        assert made.runtime.services.models.find("example", "large") is not None


def test_the_test_of_the_guide_runs() -> None:
    (block,) = [block for block in BLOCKS if block not in EXTENSIONS]
    exec(compile(block, "docs/extensions.md", "exec"), {})


def test_the_code_of_the_guide_passes_strict_checks(tmp_path: Path) -> None:
    for number, block in enumerate(EXTENSIONS):
        (tmp_path / f"block{number}.py").write_text(block, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", str(ROOT / "pyproject.toml")]
    cache = ["--cache-dir", str(ROOT / ".mypy_cache")]
    files = [str(path) for path in sorted(tmp_path.glob("*.py"))]
    done = subprocess.run([*command, *cache, *files], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_the_guide_lists_the_examples() -> None:
    folder = ROOT / "examples" / "extensions"
    there = {path.name for path in folder.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    listed = set(re.findall(r"^\| `([\w.]+)` \| ", GUIDE[GUIDE.index("## Examples") :], re.MULTILINE))
    assert listed == there


def test_the_reference_is_what_the_types_make_of_it() -> None:
    script = [sys.executable, str(ROOT / "scripts" / "extension_reference.py"), "--check"]
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    assert subprocess.run(script, env=env, check=False).returncode == 0, "run scripts/extension_reference.py"


def test_the_reference_has_every_event() -> None:
    assert set(re.findall(r"^### `(\w+)`$", REFERENCE, re.MULTILINE)) == OBSERVED | ANSWERED


def test_the_reference_has_everything_that_is_public() -> None:
    named = set(re.findall(r"\w+", REFERENCE))
    others = {name for name in piolet.ext.__all__ if name.endswith("_tool_definition")}
    assert set(piolet.ext.__all__) - named <= others


def test_the_reference_names_no_inner_part() -> None:
    assert "CompactionProposal" not in REFERENCE
    assert "_seat" not in REFERENCE
