from __future__ import annotations

import pytest

from piolet.harness.prompt.records import Skill
from piolet.harness.prompt.skills import SkillBlock, parse_skill_block, parse_skill_command, skill_block, skill_listing

SKILL = Skill("pdf", "Work with <PDF>", "/k/pdf/SKILL.md", "/k/pdf")


def test_listing_escapes_and_leaves_out_what_only_the_user_calls() -> None:
    listing = skill_listing([SKILL, Skill("mine", "x", "/k/mine/SKILL.md", "/k/mine", hidden_from_model=True)])
    assert "<description>Work with &lt;PDF&gt;</description>" in listing
    assert "mine" not in listing


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/skill:pdf", ("pdf", "")),
        ("/skill:pdf  a  b ", ("pdf", "a  b")),
        ("/skill:pdf\nfirst\nsecond", ("pdf", "first\nsecond")),
        ("/skill: x", ("", "x")),
        (" /skill:pdf", None),
        ("/skills", None),
    ],
)
def test_skill_commands_are_taken_apart(text: str, expected: tuple[str, str] | None) -> None:
    assert parse_skill_command(text) == expected


def test_block_is_read_back() -> None:
    block = skill_block(SKILL, "\nDo it.\n", "now")
    assert block == (
        '<skill name="pdf" location="/k/pdf/SKILL.md">\nReferences are relative to /k/pdf.\n\nDo it.\n</skill>\n\nnow'
    )
    assert parse_skill_block(block) == SkillBlock(
        "pdf", "/k/pdf/SKILL.md", "References are relative to /k/pdf.\n\nDo it.", "now"
    )


def test_block_without_rest_ends_with_its_tag() -> None:
    assert skill_block(SKILL, "Do it.").endswith("Do it.\n</skill>")
