"""Piolet installed as a user has it: an environment with the runtime packages alone.

A development environment would not do. It has click, for one, and with click httpx loads its command line at import.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path

from tests.support.run import ROOT

PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check", "-qq")


@dataclass(frozen=True)
class Installation:
    folder: Path

    @property
    def command(self) -> Path:
        return self.folder / "bin" / "piolet"

    @property
    def packages(self) -> list[str]:
        """The names of the installed distributions, piolet among them."""
        return sorted(path.name.split("-")[0] for path in self._site.glob("*.dist-info"))

    @property
    def size(self) -> int:
        """Bytes of all installed files, compiled modules included."""
        return sum(path.stat().st_size for path in self._site.rglob("*") if path.is_file())

    @property
    def _site(self) -> Path:
        (site,) = self.folder.glob("lib/python*/site-packages")
        return site


def install() -> Installation:
    """Return an installation of the sources as they are now. The packages under it are kept for the next time."""
    project, lock = ROOT / "pyproject.toml", ROOT / "requirements" / "dev.txt"
    needed = tomllib.loads(project.read_text())["project"]["dependencies"]
    key = hashlib.sha256(repr((sys.version, needed, lock.read_bytes())).encode()).hexdigest()[:12]
    found = Installation(Path(tempfile.gettempdir()) / f"piolet-bench-{key}")
    into = (*PIP, "--python", str(found.folder / "bin" / "python"), "install")
    if not found.command.exists():
        print("installing the runtime packages, once", flush=True)
        _run(sys.executable, "-m", "venv", "--clear", "--without-pip", found.folder)
        _run(*into, "--constraint", lock, *needed)
    with tempfile.TemporaryDirectory() as wheels:
        _run(*PIP, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", wheels, ROOT)
        _run(*into, "--no-deps", "--force-reinstall", *Path(wheels).iterdir())
    return found


def _run(*argv: object) -> None:
    subprocess.run([str(arg) for arg in argv], check=True)
