"""The package that the page about packages makes is built, installed and used."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.support.run import ROOT, Place

PAGE = (ROOT / "docs" / "packages.md").read_text(encoding="utf-8")


def test_the_package_of_the_page_can_be_published(place: Place, tmp_path: Path) -> None:
    project, manifest = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    package = tmp_path / "tea" / "src" / "pi_tea"
    (package / "extensions").mkdir(parents=True)
    (package / "prompts").mkdir()
    (tmp_path / "tea" / "pyproject.toml").write_text(project)
    (package / "pi.toml").write_text(manifest)
    (package / "__init__.py").write_text("")
    (package / "prompts" / "tea.md").write_text("Which tea?\n")
    kettle = "import pi_tea\ndef extension(pi):\n    pi.register_command('boil', lambda args, ctx: None)\n"
    (package / "extensions" / "kettle.py").write_text(kettle)
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path / "wheels")]
    subprocess.run(build, cwd=tmp_path / "tea", check=True, capture_output=True)
    pip = {"PI_OFFLINE": "", "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path / "wheels")}
    assert place.run("install", "pypi:pi-tea", env=pip).stderr == ""
    done = place.run("--mode", "rpc", "--no-session", stdin='{"type":"get_commands"}\n')
    (response,) = (record for record in done.records if record.get("command") == "get_commands")
    assert [command["name"] for command in response["data"]["commands"]] == ["boil", "tea"]
