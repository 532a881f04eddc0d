"""The pages about the SDK are true: their code runs and is typed, the reference is what the types say."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

from tests.support.replies import Call, openai
from tests.support.run import ROOT, Place
from tests.support.server import ScriptedServer

SDK = ROOT / "docs" / "sdk"
GUIDE = (SDK / "guide.md").read_text(encoding="utf-8")
TUTORIAL = re.findall(r"```python\n(.*?)\n```", (SDK / "tutorial.md").read_text(encoding="utf-8"), re.DOTALL)


def test_every_example_that_is_named_exists_and_every_example_is_named() -> None:
    named = set(re.findall(r"`(?:examples/sdk/)?(\w+\.(?:py|ipynb))`", GUIDE))
    assert named == {path.name for path in (ROOT / "examples" / "sdk").iterdir() if path.suffix in (".py", ".ipynb")}


def test_the_agent_of_the_tutorial_keeps_to_its_limits_and_remembers(place: Place) -> None:
    asked = [(7, 20), (7, 20), (8, 20), (8, -500), (8, "-500"), (8, 0), (8, 90)]
    refunds = [
        Call("refund", {"number": number, "amount": amount}, f"c{i}") for i, (number, amount) in enumerate(asked)
    ]
    script = [openai(Call("find_order", {"number": 7})), openai(*refunds), openai("Done."), openai("As I said.")]
    run = (sys.executable, "-c", TUTORIAL[2])
    with ScriptedServer(script) as server:
        place.write_models(server.url)
        assert place.run("eve", "Money!", command=run).stdout.startswith("Done.\n(")
        told = [m["content"] for m in server.requests[2].body["messages"] if m["role"] == "tool"][1:]
        texts = [json.dumps(content) for content in told]
        assert ["paid back" in text for text in texts] == [True, False, True, False, False, False, False]
        assert "needs a person" in texts[1]
        assert place.run("eve", "What did you say?", command=run).stdout.startswith("As I said.\n(")
        assert "Money!" in json.dumps(server.requests[3].body)


def test_the_code_passes_strict_checks(tmp_path: Path) -> None:
    examples = [path.read_text(encoding="utf-8") for path in sorted((ROOT / "examples" / "sdk").glob("*.py"))]
    for number, text in enumerate([*TUTORIAL[2:], *examples]):
        (tmp_path / f"program{number}.py").write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", str(ROOT / "pyproject.toml")]
    cache = ["--cache-dir", str(ROOT / ".mypy_cache")]
    files = [str(path) for path in sorted(tmp_path.glob("*.py"))]
    done = subprocess.run([*command, *cache, *files], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_the_reference_is_what_the_types_make_of_it() -> None:
    script = [sys.executable, str(ROOT / "scripts" / "sdk_reference.py"), "--check"]
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    assert subprocess.run(script, env=env, check=False).returncode == 0, "run scripts/sdk_reference.py"
