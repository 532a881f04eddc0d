"""Which files are found for a project, in which order, and which are switched off."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from piolet.app.resources.resolve import Places, Resolution, resolve_resources
from piolet.app.settings_files import SettingsFiles
from tests.conformance.outcome import equal
from tests.conformance.resources.world import rooted, scratch


def resolve(given: dict[str, Any], root: Path) -> Resolution:
    cwd, agent_dir = root / given["cwd"], root / given["agentDir"]
    cwd.mkdir(parents=True, exist_ok=True)
    files = SettingsFiles(agent_dir, cwd, project_trusted=given["trusted"])
    return resolve_resources(Places(cwd, agent_dir, root / given["home"]), files.settings, trusted=given["trusted"])


def compare(found: Resolution, expected: dict[str, Any]) -> None:
    """Neighbours from one folder come in the order of the folder's listing, so they are compared as a set."""
    for kind, items in expected.items():
        mine = [
            {
                "path": resource.path,
                "enabled": resource.enabled,
                "scope": resource.scope,
                "origin": resource.origin,
                "source": "package" if resource.origin == "package" else resource.source,
            }
            for resource in found.resources[kind]  # type: ignore[index]
        ]
        equal(_grouped(mine), _grouped(items), kind)


def _grouped(items: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    groups: list[list[dict[str, Any]]] = []
    for item in items:
        if groups and _origin(groups[-1][0]) == _origin(item):
            groups[-1].append(item)
        else:
            groups.append([item])
    return [sorted(group, key=lambda item: item["path"]) for group in groups]


def _origin(item: dict[str, Any]) -> tuple[str, ...]:
    path = Path(item["path"])
    folder = path.parent.parent if path.name in ("SKILL.md", "__init__.py") else path.parent
    return item["scope"], item["source"], str(folder)


def resolve_all(case: dict[str, Any], shared: dict[str, Any]) -> None:
    with scratch(case["in"]["tree"]) as root:
        compare(resolve(case["in"], root), rooted(case["out"], root))


OPS = {"resolve_resources": resolve_all}
