"""Skills from explicit paths."""

from __future__ import annotations

from typing import Any

from piolet.app.resources.skills import load_skills
from tests.conformance.resources.world import expect, scratch


def load(case: dict[str, Any], shared: dict[str, Any]) -> None:
    with scratch(case["in"]["tree"]) as root:
        skills, diagnostics = load_skills(str(root / path) for path in case["in"]["paths"])
        found = {
            "skills": [
                {
                    "name": skill.name,
                    "description": skill.description
                    if len(skill.description) <= 80
                    else {"length": len(skill.description)},
                    "path": skill.path,
                    "baseDir": skill.base_dir,
                    "disabled": skill.hidden_from_model,
                }
                for skill in sorted(skills, key=lambda skill: skill.name)
            ],
            "diagnostics": [
                {"code": item.code, "path": item.path}
                | ({"winner": item.winner, "loser": item.path} if item.winner else {})
                for item in sorted(diagnostics, key=lambda item: (item.code, item.path))
            ],
        }
        case["out"]["skills"].sort(key=lambda skill: skill["name"])
        case["out"]["diagnostics"].sort(key=lambda item: (item["code"], item["path"]))
        expect(case, lambda: found, root)


OPS = {"load_skills": load}
