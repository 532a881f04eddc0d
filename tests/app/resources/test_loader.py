from __future__ import annotations

import json
from pathlib import Path

from piolet.app.options import ResourceSelection, RuntimeOptions
from piolet.app.resources.loader import Resources, load_resources
from piolet.app.resources.skills import expand_skill_command, load_skills
from piolet.app.resources.system_files import system_texts, text_or_file
from piolet.app.resources.templates import load_templates
from piolet.app.resources.themes import load_themes
from piolet.app.settings import Settings
from piolet.tui.theme_builtin import theme_file

SKILL = "---\nname: {0}\ndescription: does {0}\n---\n\nDo {0}.\n"


def put(path: Path, text: str) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_a_skill_with_faults_still_loads_and_says_so(tmp_path: Path) -> None:
    put(tmp_path / "a/SKILL.md", f"---\nname: {'n' * 65}\ndescription: {'d' * 1025}\n---\n")
    skills, diagnostics = load_skills([str(tmp_path)])
    assert len(skills) == 1
    assert [item.code for item in diagnostics] == ["name-too-long", "description-too-long"]


def test_a_name_that_is_no_text_is_the_folders(tmp_path: Path) -> None:
    put(tmp_path / "folder/SKILL.md", "---\nname: 5\ndescription: d\n---\n")
    assert [skill.name for skill in load_skills([str(tmp_path)])[0]] == ["folder"]


def test_bad_yaml_in_skill_md_is_told_and_in_a_loose_file_not(tmp_path: Path) -> None:
    put(tmp_path / "a/SKILL.md", "---\na: [\n---\n")
    put(tmp_path / "loose.md", "---\na: [\n---\n")
    assert [item.code for item in load_skills([str(tmp_path)])[1]] == ["unreadable"]


def test_the_first_skill_of_a_name_wins(tmp_path: Path) -> None:
    first, second = put(tmp_path / "a/SKILL.md", SKILL.format("x")), put(tmp_path / "b/SKILL.md", SKILL.format("x"))
    skills, diagnostics = load_skills([first, second, first])
    assert [skill.path for skill in skills] == [first]
    assert [(item.path, item.winner) for item in diagnostics] == [(second, first)]


def test_a_skill_is_read_when_it_is_called(tmp_path: Path) -> None:
    path = put(tmp_path / "x/SKILL.md", SKILL.format("x"))
    skills, _ = load_skills([path])
    put(tmp_path / "x/SKILL.md", "---\nbroken: [\n---\nnew")
    text = expand_skill_command("/skill:x please", skills)
    assert text == (
        f'<skill name="x" location="{path}">\nReferences are relative to {tmp_path / "x"}.\n\n'
        "---\nbroken: [\n---\nnew\n</skill>\n\nplease"
    )
    assert expand_skill_command("/skill:y please", skills) == "/skill:y please"


def test_templates_with_faults_are_told(tmp_path: Path) -> None:
    good = put(tmp_path / "a.b.md", "text")
    put(tmp_path / "bad.md", "---\na: [\n---\n")
    other = put(tmp_path / "other/a.b.md", "text")
    templates, diagnostics = load_templates(
        [str(tmp_path), other, str(tmp_path / "nowhere"), put(tmp_path / "x.txt", "")]
    )
    assert [(template.name, template.path) for template in templates] == [("a.b", good)]
    assert sorted(item.code for item in diagnostics) == ["collision", "not-markdown", "path-missing", "unreadable"]


def test_themes_of_the_user_come_before_the_built_in_ones(tmp_path: Path) -> None:
    mine = put(tmp_path / "mine.json", json.dumps(theme_file("light") | {"name": "dark"}))
    again = put(tmp_path / "again.json", json.dumps(theme_file("light") | {"name": "dark"}))
    bad = put(tmp_path / "bad.json", '{"name": "x", "colors": {}}')
    themes, diagnostics = load_themes([mine, again, bad])
    assert {name: loaded.path for name, loaded in themes.items()} == {"dark": mine, "light": None}
    assert [(item.code, item.path) for item in diagnostics] == [("collision", again), ("invalid-theme", bad)]
    assert "colors lacks accent" in diagnostics[1].message


def load(root: Path, settings: Settings | None = None, skills: ResourceSelection | None = None) -> Resources:
    put(root / "agent/skills/x/SKILL.md", SKILL.format("x"))
    put(root / "agent/prompts/t.md", "Say $1")
    put(root / "cwd/own/SKILL.md", SKILL.format("own"))
    options = RuntimeOptions(root / "cwd", root / "agent", root / "home", skills=skills or ResourceSelection())
    return load_resources(options, settings or Settings(), trusted=True)


def test_paths_of_the_command_line_come_after_what_is_found(tmp_path: Path) -> None:
    resources = load(tmp_path, skills=ResourceSelection(["own"]))
    assert [skill.name for skill in resources.skills] == ["x", "own"]
    assert [template.name for template in resources.templates] == ["t"]


def test_discovery_may_be_switched_off_per_kind(tmp_path: Path) -> None:
    resources = load(tmp_path, skills=ResourceSelection(["own"], discover=False))
    assert [skill.name for skill in resources.skills] == ["own"]
    assert len(resources.templates) == 1


def test_what_is_switched_off_is_not_loaded(tmp_path: Path) -> None:
    resources = load(tmp_path, Settings({"skills": ["!x"]}))
    assert resources.skills == []
    assert [resource.enabled for resource in resources.found.resources["skills"]] == [False]


def test_text_of_the_user_is_expanded_once(tmp_path: Path) -> None:
    resources = load(tmp_path)
    assert resources.expand("/t /skill:x") == "Say /skill:x"
    assert resources.expand("/skill:x").endswith("Do x.\n</skill>")
    assert resources.expand("/none x") == "/none x"


def test_an_empty_system_file_still_wins_over_the_users(tmp_path: Path) -> None:
    put(tmp_path / "cwd/.pi/SYSTEM.md", "")
    put(tmp_path / "agent/SYSTEM.md", "mine")
    texts = system_texts(tmp_path / "cwd", tmp_path / "agent", trusted=True)
    assert (texts.prompt, texts.append) == ("", [])


def test_flags_may_name_files(tmp_path: Path) -> None:
    put(tmp_path / "x.md", "\ufefffrom file")
    assert text_or_file("x.md", tmp_path) == "from file"
    assert text_or_file("just text", tmp_path) == "just text"
    for odd in ("a" * 5000, "a\0b", "~nobody-here/x", ""):
        assert text_or_file(odd, tmp_path) == odd


def test_a_path_of_another_machine_is_told_and_the_others_load(tmp_path: Path) -> None:
    put(tmp_path / "cwd/a/SKILL.md", SKILL.format("a"))
    selection = ResourceSelection(["file://elsewhere/skills", "a"])
    options = RuntimeOptions(cwd=tmp_path / "cwd", agent_dir=tmp_path / "agent", home=tmp_path, skills=selection)
    resources = load_resources(options, Settings(), trusted=False)
    assert [skill.name for skill in resources.skills] == ["a"]
    assert [item.path for item in resources.diagnostics] == ["file://elsewhere/skills"]
