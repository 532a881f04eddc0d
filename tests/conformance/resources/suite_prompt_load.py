"""Prompt templates from explicit paths."""

from __future__ import annotations

from typing import Any

from piolet.app.resources.templates import load_templates
from tests.conformance.resources.world import expect, scratch


def load(case: dict[str, Any], shared: dict[str, Any]) -> None:
    with scratch(case["in"]["tree"]) as root:
        templates, diagnostics = load_templates(str(root / path) for path in case["in"]["paths"])
        found = {
            "templates": [
                {
                    "name": template.name,
                    "description": template.description,
                    "argumentHint": template.argument_hint,
                    "content": template.content,
                    "path": template.path,
                }
                for template in sorted(templates, key=lambda template: template.path)
            ],
            "diagnostics": [{"code": item.code, "path": item.path} for item in diagnostics],
        }
        expect(case, lambda: found, root)


OPS = {"load_prompts": load}
