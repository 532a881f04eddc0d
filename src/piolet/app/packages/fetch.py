"""Bringing a package to disk: git, pip and npm do the work, here is where it goes and that it arrives whole.

Everything is made beside its place first and moved there at the end, so that a failure leaves what was there.
Source of the rules: the resources specification, section 11.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from piolet.app.packages.sources import (
    GitSource,
    LocalSource,
    NpmSource,
    PackageError,
    PypiSource,
    Source,
    installed_path,
)

#: Kept out of the project's own repository.
_GITIGNORE = "*\n!.gitignore\n"
DEPENDENCIES = ".pi-deps"


class Fetcher:
    """Fetches into `base` (the agent folder, or the project's ``.pi``). `pip` and `npm`: the commands to use."""

    def __init__(
        self, base: Path, home: Path, *, pip: Sequence[str] | None = None, npm: Sequence[str] | None = None
    ) -> None:
        self._base = base
        self._home = home
        self._pip = list(pip) if pip else default_pip()
        self._npm = list(npm) if npm else ["npm"]

    def fetch(self, source: Source) -> Path:
        """Bring the package to its place, anew if it is there; return the place. Raises `PackageError`."""
        target = installed_path(source, self._base, self._home)
        match source:
            case LocalSource():
                if not target.exists():
                    raise PackageError(f"{source.path}: there is nothing at {target}")
            case GitSource():
                self._replace(target, lambda place: self._clone(source, place))
            case PypiSource():
                self._replace(target, lambda place: self._pip_install([source.requirement], place))
            case NpmSource():
                wanted = f"{source.name}@{source.version}" if source.version else source.name
                prefix = self._base / "npm"
                _make_private(prefix)
                _run([*self._npm, "install", "--prefix", str(prefix), "--ignore-scripts", "--no-audit", wanted], wanted)
        return target

    def remove(self, source: Source) -> None:
        """Delete what `fetch` brought; what the user pointed at stays."""
        if isinstance(source, LocalSource):
            return
        target = installed_path(source, self._base, self._home)
        shutil.rmtree(target, ignore_errors=True)
        for folder in target.parents:
            if folder == self._base or not folder.is_relative_to(self._base):
                break
            left = set(os.listdir(folder)) - {".gitignore"} if folder.is_dir() else set()
            if left:
                break
            shutil.rmtree(folder, ignore_errors=True)

    def _replace(self, target: Path, make: Callable[[Path], None]) -> None:
        top = self._base / target.relative_to(self._base).parts[0]
        _make_private(top)
        ignore = top / ".gitignore"
        if not ignore.exists():
            ignore.write_text(_GITIGNORE)
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".new-", dir=target.parent) as folder:
            place = Path(folder) / "package"
            make(place)
            if target.exists():
                os.rename(target, Path(folder) / "old")
            os.rename(place, target)

    def _clone(self, source: GitSource, place: Path) -> None:
        _run(["git", "clone", "--quiet", "--no-checkout", "--", source.repo, str(place)], source.repo)
        ref = source.ref or "HEAD"
        found = _try(["git", "-C", str(place), "rev-parse", "--verify", "--quiet", f"origin/{ref}^{{commit}}"])
        commit = found or _try(["git", "-C", str(place), "rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}"])
        if not commit:
            raise PackageError(f"{source.repo} has no branch, tag or commit {ref!r}")
        _run(["git", "-C", str(place), "checkout", "--quiet", "--detach", commit], source.repo)
        requirements = _project_dependencies(place)
        if requirements:
            self._pip_install(requirements, place / DEPENDENCIES)

    def _pip_install(self, requirements: Sequence[str], target: Path) -> None:
        command = [*self._pip, "install", "--quiet", "--target", str(target)]
        if "uv" in Path(self._pip[0]).name:
            command += ["--python", sys.executable]
        _run([*command, *requirements], ", ".join(requirements))


def default_pip() -> list[str]:
    """Return ``uv pip`` if uv is there, else the pip of this Python."""
    uv = shutil.which("uv")
    return [uv, "pip"] if uv else [sys.executable, "-m", "pip", "--disable-pip-version-check"]


def _project_dependencies(root: Path) -> list[str]:
    """Return the dependencies in the ``pyproject.toml`` of a checkout, without this program, which is the host."""
    import tomllib

    try:
        project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8")).get("project", {})
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:
        raise PackageError(f"{root / 'pyproject.toml'} cannot be read: {error}") from error
    listed = project.get("dependencies", [])
    return [item for item in listed if isinstance(item, str) and not item.lower().startswith("piolet")]


def _make_private(folder: Path) -> None:
    if not folder.exists():
        folder.mkdir(parents=True, mode=0o700)


def _run(command: Sequence[str], what: str) -> None:
    environment = {**os.environ, "GIT_TERMINAL_PROMPT": "0"}
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", env=environment
        )
    except FileNotFoundError:
        raise PackageError(f"{command[0]} is needed for {what} and is not installed") from None
    if done.returncode:
        lines = [line for line in (done.stderr or done.stdout).strip().split("\n") if line.strip()]
        raise PackageError(f"{what} could not be fetched: {lines[-1] if lines else f'exit code {done.returncode}'}")


def _try(command: Sequence[str]) -> str:
    """Return what a command prints, empty if it fails."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
    return done.stdout.strip() if done.returncode == 0 else ""
