"""What the pages about settings, skills, templates, themes and trust show is true."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from piolet.app.resources.patterns import Patterns
from piolet.app.resources.resolve import package_entries
from piolet.app.resources.skills import expand_skill_command, load_skills
from piolet.app.settings import Key, Settings
from piolet.app.trust import ASKING_FILES, TrustStore
from piolet.base.frontmatter import parse_fields
from piolet.harness.prompt.templates import expand_template, parse_template
from piolet.tui.theme import FALLBACKS, TOKENS, parse_theme
from piolet.tui.theme_builtin import theme_file

ROOT = Path(__file__).parents[2]


def page(name: str) -> str:
    return (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")


def blocks(name: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)\n```", page(name), re.DOTALL)


def test_every_setting_is_documented() -> None:
    keys = {value.path for value in vars(Settings).values() if isinstance(value, Key)} - {"collapseChangelog"}
    assert keys - set(re.findall(r"`([\w.]+)`", page("settings"))) == set()


def test_settings_without_effect_are_said_to_have_none() -> None:
    program = "".join(path.read_text() for path in (ROOT / "src").rglob("*.py") if path.name != "settings.py")
    (without,) = re.findall(r"change nothing here: (.*?)\.\n\n", page("settings"), re.DOTALL)
    for attribute, key in vars(Settings).items():
        if isinstance(key, Key) and f"`{key.path}`" not in without:
            assert re.search(rf"\.{attribute}\b", program), key.path


def test_the_first_example_of_settings_works() -> None:
    settings = Settings(json.loads(blocks("settings", "json")[0]))
    assert settings.default_tools == ["read", "bash", "edit", "grep"]
    assert settings.compaction.keep_recent_tokens == 30000
    assert settings.compaction_model == "anthropic/claude-haiku-5-5"


def test_the_example_of_resource_lists_works() -> None:
    values = json.loads(blocks("settings", "json")[1])
    assert not Patterns.of(values["prompts"][1:]).allows("/agent/prompts/draft-x.md", "/agent")
    assert not Patterns.of(values["skills"]).allows("/agent/skills/experimental/SKILL.md", "/agent")
    assert package_entries(values, "user")[0].filters == {"themes": []}


def test_the_example_of_a_skill_works(tmp_path: Path) -> None:
    path = tmp_path / "changelog" / "SKILL.md"
    path.parent.mkdir()
    path.write_text(blocks("skills", "markdown")[0], encoding="utf-8")
    skills, diagnostics = load_skills([str(tmp_path)])
    assert diagnostics == []
    assert expand_skill_command("/skill:changelog for the last two commits", skills).endswith(
        "for the last two commits"
    )


def test_the_examples_of_templates_work() -> None:
    review, translate = (
        parse_template(name, text)
        for name, text in zip(["review", "translate"], blocks("prompt-templates", "markdown"), strict=True)
    )
    text = expand_template('/review HEAD~1 "error handling" names', [review])
    assert text.startswith("Review HEAD~1. Look at error handling names first. ")
    expected = "Translate README.md to French. Leave code and names as they are."
    for call in ("/translate README.md French", "/translate language=French README.md"):
        assert expand_template(call, [translate]) == expected


def test_the_example_of_a_theme_works(tmp_path: Path) -> None:
    (program,) = blocks("themes", "python")
    subprocess.run([sys.executable, "-c", program], check=True, cwd=tmp_path, env={"PYTHONPATH": str(ROOT / "src")})
    theme = json.loads((tmp_path / "mine.json").read_text("utf-8"))
    part = json.loads(blocks("themes", "json")[1])
    theme["vars"] |= part["vars"]
    theme["colors"] |= part["colors"]
    assert parse_theme(theme).name == "mine"


def test_every_token_of_a_theme_is_documented() -> None:
    text = page("themes")
    assert [token for token in TOKENS if f"`{token}`" not in text] == []
    for token, other in FALLBACKS.items():
        assert re.search(rf"`{token}` \((then )?`{other}`\)", text), token
    assert set(theme_file("dark")["colors"]) == set(TOKENS)


def test_what_asks_for_trust_is_documented(tmp_path: Path) -> None:
    assert [name for name in ASKING_FILES if f"`.pi/{name}`" not in page("security")] == []
    (tmp_path / "trust.json").write_text(blocks("security", "json")[0], encoding="utf-8")
    assert TrustStore(tmp_path).nearest(Path("/home/me/work/strange-thing/sub")) is False


@pytest.mark.parametrize("name", ["settings", "skills", "prompt-templates", "themes", "security"])
def test_links_lead_to_pages(name: str) -> None:
    linked = re.findall(r"\]\(([\w-]+\.md)\)", page(name))
    assert [target for target in linked if not (ROOT / "docs" / target).is_file()] == []
    assert parse_fields(page(name))[0] == {}
