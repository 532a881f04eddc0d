"""Bringing a package to disk: git, pip and npm do the work, here is where it goes and that it arrives whole.

Everything is made beside its place first and moved there at the end, so that a failure leaves what was there.
Source of the rules: the resources specification, section 11.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from piolet.app.json_files import parse_object, read_text
from piolet.app.packages.distributions import normal_name
from piolet.app.packages.imports import DEPENDENCIES
from piolet.app.packages.sources import (
    DistributionSource,
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
#: Set for what git starts: they would lead git to another repository.
_OF_A_REPOSITORY = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE")
#: What ends the name in a requirement.
_NAME = re.compile(r"[^A-Za-z0-9._-]")


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
        try:
            return self._fetch(source)
        except OSError as error:
            raise PackageError(f"A package could not be kept below {self._base}: {error}") from error

    def _fetch(self, source: Source) -> Path:
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
                self._top("npm")
                wanted = f"{source.name}@{source.version or 'latest'}"
                self._run_npm("install", "--omit=dev", "--legacy-peer-deps", "--no-audit", "--no-fund", wanted)
            case DistributionSource():
                pass  # it is there, or it would have no path
        return target

    def remove(self, source: Source) -> None:
        """Delete what `fetch` brought; what the user pointed at stays."""
        if isinstance(source, LocalSource | DistributionSource):
            return
        target = installed_path(source, self._base, self._home)
        if isinstance(source, NpmSource) and target.exists() and shutil.which(self._npm[0]):
            self._run_npm("uninstall", "--no-audit", "--no-fund", source.name)
            if not _npm_dependencies(self._base / "npm"):
                shutil.rmtree(self._base / "npm")
                return
        shutil.rmtree(target, ignore_errors=True)
        for folder in target.parents:
            if folder == self._base or not folder.is_relative_to(self._base):
                break
            left = set(os.listdir(folder)) - {".gitignore"} if folder.is_dir() else set()
            if left:
                break
            shutil.rmtree(folder, ignore_errors=True)

    def _top(self, name: str) -> Path:
        """Return the folder of all packages of a kind, made if it is not there."""
        top = self._base / name
        top.mkdir(parents=True, mode=0o700, exist_ok=True)
        ignore = top / ".gitignore"
        if not ignore.exists():
            ignore.write_text(_GITIGNORE)
        return top

    def _run_npm(self, command: str, *words: str) -> None:
        prefix = str(self._base / "npm")
        _run([*self._npm, command, "--prefix", prefix, "--ignore-scripts", *words], words[-1])

    def _replace(self, target: Path, make: Callable[[Path], None]) -> None:
        self._top(target.relative_to(self._base).parts[0])
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".new-", dir=target.parent) as folder:
            place = Path(folder) / "package"
            make(place)
            if target.exists():
                os.rename(target, Path(folder) / "old")
            try:
                os.rename(place, target)
            except OSError:
                if not target.exists():  # else another process was faster
                    raise

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
    requirements = [item for item in listed if isinstance(item, str)] if isinstance(listed, list) else []
    return [item for item in requirements if normal_name(_NAME.split(item.strip(), maxsplit=1)[0]) != "piolet"]


def _npm_dependencies(prefix: Path) -> object:
    """Return what npm notes as wanted in its folder; empty for nothing."""
    text = read_text(prefix / "package.json")
    try:
        return parse_object(text).get("dependencies") if text else None
    except ValueError:
        return "unknown"


def _run(command: Sequence[str], what: str) -> None:
    try:
        done = _done(command)
    except FileNotFoundError:
        raise PackageError(f"{command[0]} is needed for {what} and is not installed") from None
    if done.returncode:
        lines = [line for line in (done.stderr or done.stdout).strip().split("\n") if line.strip()]
        of_git = [line.removeprefix("fatal: ") for line in lines if line.startswith("fatal: ")]
        reason = (of_git or lines[-1:] or [f"exit code {done.returncode}"])[0]
        raise PackageError(f"{what} could not be fetched: {reason}")


def _try(command: Sequence[str]) -> str:
    """Return what a command prints, empty if it fails."""
    done = _done(command)
    return done.stdout.strip() if done.returncode == 0 else ""


def _done(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run a command away from the project: its files must not say where packages come from."""
    environment = {name: value for name, value in os.environ.items() if name not in _OF_A_REPOSITORY}
    environment["GIT_TERMINAL_PROMPT"] = "0"
    return subprocess.run(
        command, cwd="/", stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", env=environment
    )
