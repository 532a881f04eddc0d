"""The two commands of the README, and what they stand on."""

from __future__ import annotations

import ast
import os
import re
import shutil
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import dev
from tests.support.run import ROOT, Place

UNITTEST = (sys.executable, "-m", "unittest", "-q")


def test_the_demo_model_repairs_the_sample_project(place: Place) -> None:
    project = place.cwd / "sample-project"
    shutil.copytree(dev.SAMPLE, project, ignore=shutil.ignore_patterns("__pycache__"))
    there = Place(place.home, project)
    before = {path.name: path.read_text() for path in project.iterdir()}
    assert there.run(command=UNITTEST).exit == 1
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    finished = there.run("-p", "--model", "demo/scripted", dev.SAMPLE_PROMPT, env={"PATH": path})
    assert (finished.exit, finished.stderr) == (0, "")
    assert finished.stdout.startswith("DEMO: no model, fixed replies")
    assert there.run(command=UNITTEST).exit == 0
    changed = [name for name, text in before.items() if (project / name).read_text() != text]
    assert changed == ["prices.py"]


def test_readme_and_ci_use_the_two_commands() -> None:
    readme = (ROOT / "README.md").read_text()
    assert "    python3 dev.py demo\n" in readme
    assert "    python3 dev.py test\n" in readme
    ci = [line for line in (ROOT / ".ci" / "run").read_text().splitlines() if not line.startswith(("#", "set", "cd"))]
    assert ci == ["rm -rf .venv", "python3 dev.py test"]


def test_an_old_python_can_read_dev_py_as_far_as_its_complaint() -> None:
    source = (ROOT / "dev.py").read_text()
    tree = ast.parse(source, feature_version=(3, 6))
    before = source[: source.index("sys.exit(f")]
    assert re.findall(r"^(?:from|import) .*$", before, re.MULTILINE) == ["import sys"]
    assert not any(isinstance(node, ast.ImportFrom) and node.module == "__future__" for node in ast.walk(tree))


def test_an_unknown_command_shows_the_commands_and_makes_nothing() -> None:
    for arguments in (["no-such-command"], [], ["check", "surplus"]):
        finished = subprocess.run(
            [sys.executable, ROOT / "dev.py", *arguments], capture_output=True, text=True, check=False
        )
        assert (finished.returncode, finished.stdout) == (2, "")
        for command in dev.COMMANDS:
            assert re.search(rf"^    {command}\b", finished.stderr, re.MULTILINE)


def test_the_lock_pins_every_dependency_and_names_no_host() -> None:
    lock = (ROOT / "requirements" / "dev.txt").read_text()
    pins = [re.fullmatch(r"([a-z0-9-]+)==\S+( ; .+)?", line) for line in lock.splitlines()]
    assert all(pins), "a line that is no pin"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wanted = project["project"]["dependencies"] + project["dependency-groups"]["dev"]
    names = {re.split(r"[\[<>=~! ]", entry)[0].lower().replace(".", "-").replace("_", "-") for entry in wanted}
    assert names <= {pin[1] for pin in pins if pin}


def test_an_interrupt_ends_the_set_up_without_a_traceback(tmp_path: Path) -> None:
    for name in ("dev.py", "pyproject.toml", "requirements/dev.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    command = [sys.executable, "dev.py", "check"]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, process_group=0
    ) as run:
        assert run.stdout is not None
        assert b"making .venv" in run.stdout.readline()
        os.killpg(run.pid, signal.SIGINT)
        _, errors = run.communicate(timeout=30)
    assert (run.returncode, b"dev.py" in errors) == (130, False)
