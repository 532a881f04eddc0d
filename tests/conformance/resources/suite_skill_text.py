"""The listing of skills in the prompt, and recognising an expanded skill message."""

from __future__ import annotations

from typing import Any

from piolet.harness.prompt.skills import parse_skill_block, skill_listing
from tests.conformance.resources.suite_system_prompt import skill_of
from tests.conformance.resources.world import expect


def listing(case: dict[str, Any], shared: dict[str, Any]) -> None:
    text = skill_listing([skill_of(skill) for skill in case["in"]["skills"]])
    block = text[text.index("<available_skills>") :] if text else None
    expect(case, lambda: {"empty": not text, "block": block})


def parse(case: dict[str, Any], shared: dict[str, Any]) -> None:
    def found() -> dict[str, Any] | None:
        block = parse_skill_block(case["in"]["text"])
        if block is None:
            return None
        return {
            "name": block.name,
            "location": block.location,
            "content": block.content,
            "userMessage": block.user_message,
        }

    expect(case, found)


OPS = {"skill_listing": listing, "parse_skill_block": parse}
