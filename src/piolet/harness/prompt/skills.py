"""Skills in prompts: the listing that the model sees, and what ``/skill:name`` becomes. Pure.

Source of the rules: the resources specification, section 4.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from piolet.base.regex import compiled_later
from piolet.harness.prompt.records import Skill

COMMAND_PREFIX = "/skill:"

_LISTING_INTRO = (
    "These skills hold instructions for special tasks. When a task fits a description, read the whole file at its "
    "location first and follow it. Relative paths inside a skill are relative to the folder of that file."
)
_BLOCK = compiled_later(
    r'<skill name="([^"]+)" location="([^"]+)">\n(.*?)\n</skill>(?:\n\n(.+))?\Z',
    re.DOTALL,
)
_XML = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&apos;"})


class SkillBlock(Struct, frozen=True):
    """An expanded ``/skill:name`` message, taken apart. `user_message` is what the user wrote after the name."""

    name: str
    location: str
    content: str
    user_message: str | None


def xml_escape(text: str) -> str:
    """Return `text` with ``& < > " '`` written as entities."""
    return text.translate(_XML)


def skill_listing(skills: Sequence[Skill]) -> str:
    """Return the part of the prompt that lists `skills`, empty when the model may see none of them."""
    visible = [skill for skill in skills if not skill.hidden_from_model]
    if not visible:
        return ""
    lines = [_LISTING_INTRO, "", "<available_skills>"]
    for skill in visible:
        lines += [
            "  <skill>",
            f"    <name>{xml_escape(skill.name)}</name>",
            f"    <description>{xml_escape(skill.description)}</description>",
            f"    <location>{xml_escape(skill.path)}</location>",
            "  </skill>",
        ]
    return "\n".join([*lines, "</available_skills>"])


def parse_skill_command(text: str) -> tuple[str, str] | None:
    """Return (name, rest) of a text ``/skill:name rest``, None if it is none. `rest` is trimmed."""
    if not text.startswith(COMMAND_PREFIX):
        return None
    name, *rest = re.split(r"\s", text.removeprefix(COMMAND_PREFIX), maxsplit=1)
    return name, "".join(rest).strip()


def skill_block(skill: Skill, body: str, rest: str = "") -> str:
    """Return the message that calls `skill`. `body` is its file without front matter, `rest` what the user added."""
    block = (
        f'<skill name="{skill.name}" location="{skill.path}">\n'
        f"References are relative to {skill.base_dir}.\n\n{body.strip()}\n</skill>"
    )
    return f"{block}\n\n{rest}" if rest else block


def parse_skill_block(text: str) -> SkillBlock | None:
    """Return the parts of a message that `skill_block` made, None if `text` is no such message."""
    match = _BLOCK.match(text)
    if match is None:
        return None
    rest = match[4].strip() if match[4] else None
    return SkillBlock(match[1], match[2], match[3], rest or None)


def as_typed(text: str) -> str:
    """Return a user's message as it was typed: one that `skill_block` made as the command that called the skill."""
    skill = parse_skill_block(text)
    return text if skill is None else f"{COMMAND_PREFIX}{skill.name} {skill.user_message or ''}".rstrip()
