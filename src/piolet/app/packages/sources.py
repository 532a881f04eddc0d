"""Where a package comes from: what a source string means, which package it is, where it is kept on disk.

Source of the rules: the resources specification, section 11.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct

from piolet.app.packages.distributions import PACKAGES, entry_points, module_folder, normal_name
from piolet.base.paths import resolve_path
from piolet.base.regex import compiled_later
from piolet.base.urls import without_credentials

_URL = compiled_later(r"(?P<scheme>https?|ssh|git)://(?:[^/@]*@)?(?P<host>[^/:@]+)(?::[0-9]+)?/(?P<path>[^#?]+)")
_FILE_URL = compiled_later(r"git:\s*(?P<repo>file:///(?P<path>[^@#?]+))(?:@(?P<ref>[^-].*))?")
_SCP = compiled_later(r"[^/@:]+@(?P<host>[^/:@]+):(?P<path>[^#?]+)")
_SHORT = compiled_later(r"(?P<host>localhost|[^/:@]+\.[^/:@]+)/(?P<path>[^#?]+)")
_EXACT_VERSION = compiled_later(r"v?[0-9]+\.[0-9]+\.[0-9]+(?:[-+][0-9A-Za-z.+-]+)?")
_NPM = compiled_later(r"(?P<name>@?[^@]+)(?:@(?P<version>.+))?")
_NPM_NAME = compiled_later(r"(?:@\w[\w.-]*/)?\w[\w.-]*")
_PYPI = compiled_later(
    r"(?P<name>[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)\s*(?:\[[^\]]*\])?\s*(?P<range>.*)", re.DOTALL
)
_PINNED = compiled_later(r"===?\s*[^\s,*]+")


class PackageError(Exception):
    """A package that cannot be used; the text names its source, without credentials, and says why."""

    def __init__(self, text: str) -> None:
        super().__init__(without_credentials(text))


class GitSource(Struct, frozen=True):
    """A repository. `repo` is what git clones, `path` what follows the host, `ref` a branch, tag or commit."""

    repo: str
    host: str
    path: str
    ref: str | None = None

    @property
    def pinned(self) -> bool:
        return self.ref is not None

    @property
    def identity(self) -> str:
        return f"git:{self.host}/{self.path}"


class PypiSource(Struct, frozen=True):
    """A distribution. `name` is normalised, `requirement` the whole PEP 508 text."""

    name: str
    requirement: str
    pinned: bool = False

    @property
    def identity(self) -> str:
        return f"pypi:{self.name}"


class NpmSource(Struct, frozen=True):
    """A package of the original: what is not code of it is used."""

    name: str
    version: str | None = None

    @property
    def pinned(self) -> bool:
        return self.version is not None and _EXACT_VERSION.fullmatch(self.version) is not None

    @property
    def identity(self) -> str:
        return f"npm:{self.name}"


class DistributionSource(Struct, frozen=True):
    """A package that an installed distribution declares as an entry point of the group ``pi.packages``."""

    name: str
    pinned: bool = True

    @property
    def identity(self) -> str:
        return f"dist:{self.name}"


class LocalSource(Struct, frozen=True):
    """A folder or file of this machine, as it is written. Which one that is depends on the folder (`identity`)."""

    path: str


Source: TypeAlias = GitSource | PypiSource | NpmSource | DistributionSource | LocalSource


def parse_source(text: str) -> Source:
    """Return what a source string means. What is none of the known forms is a path. Raises `PackageError`."""
    text = text.strip()
    if text.startswith("npm:"):
        match = _NPM.fullmatch(text[4:].strip())
        if match is None:
            raise PackageError(f"{text!r} names no npm package")
        return NpmSource(match["name"], match["version"])
    if text.startswith("pypi:"):
        return _parse_pypi(text)
    if text.startswith("dist:"):
        return DistributionSource(text[5:].strip())
    return parse_git(text) or _repository_here(text) or LocalSource(text)


def needs_network(text: str) -> bool:
    """Whether a source string names a package that is not on this machine."""
    try:
        source = parse_source(text)
    except PackageError:
        return False
    is_here = isinstance(source, GitSource) and source.repo.startswith("file:")
    return not is_here and not isinstance(source, LocalSource | DistributionSource)


def is_package(text: str) -> bool:
    """Whether a source string names a package that is fetched, in place of a path of this machine."""
    try:
        return not isinstance(parse_source(text), LocalSource)
    except PackageError:
        return True


def parse_git(text: str) -> GitSource | None:
    """Return the repository that ``git:host/user/repo[@ref]`` or a URL names; None if it names none.

    Refused: ``.``, ``..`` and empty parts, backslashes, NUL, a path of one part, a ref that looks like an option.
    """
    text = text.strip()
    explicit = text.startswith("git:") and not text.startswith("git://")
    if explicit:
        text = text[4:].strip()
    elif not text.startswith(("https://", "http://", "ssh://")):
        return None
    match = _URL.fullmatch(text) or (_SCP.fullmatch(text) or _SHORT.fullmatch(text) if explicit else None)
    if match is None:
        return None
    written, at, ref = match["path"].partition("@")
    path = written.removesuffix("/").removesuffix(".git")
    if at and (not ref or ref.startswith("-")):
        return None
    if not _is_safe(match["host"], path):
        return None
    repo = text[: match.start("path")] + written
    if match.re.pattern == _SHORT.pattern:
        repo = f"https://{repo}"
    return GitSource(repo, match["host"].lower(), path, ref or None)


def _repository_here(text: str) -> GitSource | None:
    """Return the repository of this machine that ``git:file:///path[@ref]`` names."""
    match = _FILE_URL.fullmatch(text)
    if match is None:
        return None
    path = match["path"].removesuffix("/").removesuffix(".git")
    return GitSource(match["repo"], "file", path, match["ref"]) if _is_safe("file", path) else None


def identity(source: Source, base_dir: Path, home: Path) -> str:
    """Return what makes two sources the same package; paths are relative to `base_dir`, the settings' folder."""
    if isinstance(source, LocalSource):
        return f"local:{installed_path(source, base_dir, home)}"
    return source.identity


def installed_path(source: Source, base_dir: Path, home: Path) -> Path:
    """Return where the package is, or would be, kept: below `base_dir` (the agent folder, or the project's ``.pi``),
    or a local one where its path leads. `home` is ``~``. Raises `PackageError` if it cannot be anywhere."""
    match source:
        case GitSource():
            return base_dir / "git" / source.host / source.path
        case PypiSource():
            return base_dir / "pypi" / source.name
        case NpmSource():
            if not _NPM_NAME.fullmatch(source.name) or set(source.name.split("/")) & {".", ".."}:
                raise PackageError(f"npm:{source.name} names no npm package")
            return base_dir / "npm" / "node_modules" / source.name
        case DistributionSource():
            return _distribution_folder(source.name)
        case LocalSource():
            return Path(resolve_path(source.path, str(base_dir), home=str(home)))


def _parse_pypi(text: str) -> PypiSource:
    requirement = text[5:].strip()
    match = _PYPI.fullmatch(requirement)
    if match is None or (match["range"] and match["range"][0] not in "=<>!~;("):
        raise PackageError(f"{text!r} names no PyPI package: write pypi:name, or pypi:name==1.2")
    return PypiSource(normal_name(match["name"]), requirement, _PINNED.fullmatch(match["range"].strip()) is not None)


def _distribution_folder(name: str) -> Path:
    folders = [module_folder(point) for point in entry_points(sys.path, PACKAGES) if point.name == name]
    if not folders or folders[0] is None:
        raise PackageError(f"no installed distribution declares a package {name!r}")
    return folders[0]


def _is_safe(host: str, path: str) -> bool:
    from urllib.parse import unquote

    for text in (host, path, unquote(path)):
        if "\\" in text or "\0" in text or host.startswith("-"):
            return False
        if set(text.split("/")) & {"", ".", ".."}:
            return False
    return "/" in path
