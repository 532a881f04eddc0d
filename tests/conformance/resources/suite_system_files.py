"""SYSTEM.md, APPEND_SYSTEM.md and the flags."""

from __future__ import annotations

from typing import Any

from piolet.app.resources.system_files import system_texts
from tests.conformance.resources.world import expect, rooted, scratch


def system_files(case: dict[str, Any], shared: dict[str, Any]) -> None:
    with scratch(case["in"]["tree"]) as root:
        given = rooted(case["in"], root)
        texts = system_texts(
            root / given["cwd"],
            root / given["agentDir"],
            trusted=given["trusted"],
            prompt=given.get("systemPrompt"),
            append=given.get("appendSystemPrompt"),
        )
        expect(case, lambda: {"system": texts.prompt, "append": list(texts.append)}, root)


OPS = {"system_files": system_files}
