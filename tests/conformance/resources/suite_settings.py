"""Merging, migration, broken files, tool selection."""

from __future__ import annotations

from typing import Any

from piolet.app.settings_files import SettingsFiles
from tests.conformance.resources.world import expect, scratch

SCOPES = {"user": "global", "project": "project"}


def load_settings(case: dict[str, Any], shared: dict[str, Any]) -> None:
    given = case["in"]
    places = {"global": "agent/settings.json", "project": "proj/.pi/settings.json"}
    tree = {place: given[scope] for scope, place in places.items() if scope in given}
    with scratch(tree) as root:
        files = SettingsFiles(root / "agent", root / "proj", project_trusted=given["trusted"])
        found = {
            "merged": files.settings.merged,
            "failed": [SCOPES[problem.scope] for problem in files.problems],
        }
        if "tools" in case["out"]:
            found["tools"] = files.settings.default_tools
        expect(case, lambda: found)


OPS = {"load_settings": load_settings}
