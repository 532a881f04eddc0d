"""What a package offers: the lists of its manifest, and its root folder on disk.

Source of the rules: the resources specification, section 11.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from piolet.app.json_files import parse_object, read_text, reason
from piolet.app.packages.distributions import PACKAGES, entry_points
from piolet.app.packages.sources import PackageError, PypiSource

Kind: TypeAlias = Literal["extensions", "skills", "prompts", "themes"]
KINDS: tuple[Kind, ...] = ("extensions", "skills", "prompts", "themes")


class Manifest(Struct, frozen=True):
    """Paths, globs and patterns per kind, relative to the package's root. A kind that is absent offers nothing."""

    entries: Mapping[Kind, Sequence[str]] = {}
    changelog: str | None = None


def read_manifest(root: Path) -> Manifest | None:
    """Return the manifest of the package at `root`, None if it has none and its folders speak for themselves.

    The first that is found counts: ``package.json`` (key ``pi``), ``pyproject.toml`` (``[tool.pi]``), ``pi.toml``.
    Raises `PackageError` for a file that cannot be read.
    """
    for name, keys in (("package.json", ["pi"]), ("pyproject.toml", ["tool", "pi"]), ("pi.toml", [])):
        value = _read(root / name)
        for key in keys:
            value = value.get(key) if isinstance(value, dict) else None
        if isinstance(value, dict):
            manifest = _manifest(value)
            return manifest if manifest.entries else None
    return None


def package_root(source: PypiSource, target: Path) -> Path:
    """Return the import package inside the target folder of a PyPI package; `target` itself if there is none.

    The distribution names it as an entry point of the group ``pi.packages``; else the name of the distribution does.
    """
    points = [point for point in entry_points([str(target)], PACKAGES) if point.distribution == source.name]
    root = target.joinpath(*(points[0].module if points else [source.name.replace("-", "_")]))
    return root if root.is_dir() else target


def _read(path: Path) -> dict[str, Any] | None:
    try:
        text = read_text(path)
        if text is None:
            return None
        if path.suffix == ".json":
            return parse_object(text)
        import tomllib

        return tomllib.loads(text)
    except (OSError, ValueError) as error:
        raise PackageError(f"{path} cannot be used: {reason(error)}") from None


def _manifest(value: Mapping[str, Any]) -> Manifest:
    entries: dict[Kind, Sequence[str]] = {}
    for kind in KINDS:
        listed = value.get(kind)
        if isinstance(listed, list):
            entries[kind] = [item for item in listed if isinstance(item, str)]
    changelog = value.get("changelogPath")
    return Manifest(entries, changelog if isinstance(changelog, str) else None)
