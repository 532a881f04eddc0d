from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from piolet.app.packages.manifest import Kind
from piolet.app.resources.resolve import Places, Resolution, agents_skill_folders, resolve_resources
from piolet.app.settings import Settings


@pytest.fixture
def places(tmp_path: Path) -> Places:
    for name in ("proj", "agent", "home"):
        (tmp_path / name).mkdir()
    return Places(tmp_path / "proj", tmp_path / "agent", tmp_path / "home")


def make(root: Path, *names: str, text: str = "") -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def resolve(
    places: Places, user: dict[str, Any] | None = None, project: dict[str, Any] | None = None, *, trusted: bool = True
) -> Resolution:
    return resolve_resources(places, Settings(user, project), trusted=trusted)


def paths(found: Resolution, kind: Kind, root: Path) -> list[str]:
    return [
        ("" if resource.enabled else "off ") + str(Path(resource.path).relative_to(root))
        for resource in found.resources[kind]
    ]


def test_nothing_of_an_untrusted_project_is_found(places: Places, tmp_path: Path) -> None:
    make(tmp_path, "proj/.pi/prompts/a.md", "proj/.agents/skills/s/SKILL.md", "pk/prompts/p.md", "agent/prompts/u.md")
    found = resolve(places, None, {"packages": ["../../pk"], "prompts": ["../../pk/prompts"]}, trusted=False)
    assert paths(found, "prompts", tmp_path) == ["agent/prompts/u.md"]
    assert paths(found, "skills", tmp_path) == []


def test_settings_come_before_folders_and_the_project_before_the_user(places: Places, tmp_path: Path) -> None:
    make(
        tmp_path,
        "proj/.pi/prompts/b.md",
        "proj/.pi/more/a.md",
        "agent/prompts/d.md",
        "agent/extra/c.md",
        "pk/prompts/e.md",
    )
    found = resolve(places, {"prompts": ["extra"], "packages": ["../pk"]}, {"prompts": ["more"]})
    assert [Path(path).stem for path in paths(found, "prompts", tmp_path)] == list("abcde")


def test_one_real_file_is_listed_once(places: Places, tmp_path: Path) -> None:
    make(tmp_path, "agent/prompts/a.md")
    (tmp_path / "agent/prompts/b.md").symlink_to("a.md")
    (tmp_path / "lib").symlink_to("agent/prompts")
    assert paths(resolve(places, {"prompts": ["../lib/a.md"]}), "prompts", tmp_path) == ["lib/a.md"]


def test_globs_in_settings_choose_from_what_is_named(places: Places, tmp_path: Path) -> None:
    make(tmp_path, "agent/lib/a.md", "agent/lib/b.md", "agent/prompts/c.md")
    found = resolve(places, {"prompts": ["lib", "*a.md"]})
    assert paths(found, "prompts", tmp_path) == ["agent/lib/a.md", "off agent/lib/b.md", "agent/prompts/c.md"]


def test_patterns_for_agents_skills_are_relative_to_their_folder(places: Places, tmp_path: Path) -> None:
    make(tmp_path, "proj/.agents/skills/a/SKILL.md", "home/.agents/skills/b/SKILL.md")
    found = resolve(places, {"skills": ["-skills/a"]}, {"skills": ["-skills/a", "-skills/b"]})
    assert paths(found, "skills", tmp_path) == [
        "off proj/.agents/skills/a/SKILL.md",
        "home/.agents/skills/b/SKILL.md",
    ]


def test_agents_skills_end_at_the_git_root(tmp_path: Path) -> None:
    make(tmp_path, ".agents/skills/x/SKILL.md", "repo/.agents/skills/y/SKILL.md", "repo/.git")
    assert agents_skill_folders(tmp_path / "repo/sub", tmp_path / "home") == [str(tmp_path / "repo/.agents/skills")]
    folders = agents_skill_folders(tmp_path / "plain", tmp_path / "home")
    assert folders[0] == str(tmp_path / ".agents/skills")


def test_a_package_cannot_reach_out_of_its_folder(places: Places, tmp_path: Path) -> None:
    make(tmp_path, "out/a.md", "pk/in/b.md")
    manifest = {"pi": {"prompts": ["../out/a.md", str(tmp_path / "out/a.md"), "in/../../out", "in"]}}
    make(tmp_path, "pk/package.json", text=json.dumps(manifest))
    assert paths(resolve(places, {"packages": ["../pk"]}), "prompts", tmp_path) == ["pk/in/b.md"]


def test_manifests_may_use_globs_and_patterns(places: Places, tmp_path: Path) -> None:
    make(tmp_path, "pk/p/a.md", "pk/p/b.md", "pk/p/.c.md", "pk/p/s/d.md", "pk/sk/x/SKILL.md", "pk/sk/y/SKILL.md")
    manifest = {"pi": {"prompts": ["./p/**/*.md", "!p/b.md"], "skills": ["sk/*", "-sk/y"]}}
    make(tmp_path, "pk/package.json", text=json.dumps(manifest))
    found = resolve(places, {"packages": ["../pk"]})
    assert paths(found, "prompts", tmp_path) == ["pk/p/a.md", "pk/p/s/d.md"]
    assert paths(found, "skills", tmp_path) == ["pk/sk/x/SKILL.md"]


@pytest.mark.parametrize(
    ("user", "project", "expected"),
    [
        (["../pk"], [{"source": "../../pk", "autoload": False, "prompts": ["!a.md"]}], ["off a", "b"]),
        (
            [{"source": "../pk", "prompts": []}],
            [{"source": "../../pk", "autoload": False, "prompts": ["+prompts/b.md"]}],
            ["b", "off a"],
        ),
        (["../pk"], [{"source": "../../pk", "prompts": ["prompts/b.md"]}], ["off a", "b"]),
        ([{"source": "../pk", "autoload": False}], [], []),
        ([{"source": "../pk", "autoload": False, "prompts": ["b.md"]}], [], ["b"]),
        ([{"source": "../pk", "prompts": ["!b.md"]}, "../pk/"], [], ["a", "off b"]),
        ([3, {"source": 4}, "", None], [], []),
    ],
)
def test_filters_choose_from_a_package(
    places: Places, tmp_path: Path, user: list[Any], project: list[Any], expected: list[str]
) -> None:
    make(tmp_path, "pk/prompts/a.md", "pk/prompts/b.md")
    found = resolve(places, {"packages": user}, {"packages": project})
    assert [
        ("" if resource.enabled else "off ") + Path(resource.path).stem for resource in found.resources["prompts"]
    ] == expected


def test_a_pypi_package_is_read_from_its_import_package(places: Places, tmp_path: Path) -> None:
    make(tmp_path, "agent/pypi/my-pkg/my_pkg/themes/t.json", "agent/pypi/my-pkg/my_pkg/extensions/e.py")
    found = resolve(places, {"packages": ["pypi:My.Pkg>=1"]})
    assert paths(found, "themes", tmp_path) == ["agent/pypi/my-pkg/my_pkg/themes/t.json"]
    assert paths(found, "extensions", tmp_path) == ["agent/pypi/my-pkg/my_pkg/extensions/e.py"]


def test_packages_that_are_not_there_are_told(places: Places) -> None:
    found = resolve(places, {"packages": ["pypi:nope", "../nope", "npm:../x"]}, {"packages": ["git:h.x/u/r"]})
    assert [(item.source, item.scope, item.problem is None) for item in found.missing] == [
        ("git:h.x/u/r", "project", True),
        ("pypi:nope", "user", True),
        ("../nope", "user", True),
        ("npm:../x", "user", False),
    ]


def test_a_local_folder_may_be_one_extension(places: Places, tmp_path: Path) -> None:
    make(tmp_path, "pk/__init__.py", "pk/other.py", "one.py", "two.ts")
    found = resolve(places, {"packages": ["../pk", "../one.py", "../two.ts"]})
    assert paths(found, "extensions", tmp_path) == ["pk", "one.py"]
    assert found.foreign == [str(tmp_path / "two.ts")]


def test_a_broken_manifest_is_told_and_the_folders_speak(places: Places, tmp_path: Path) -> None:
    make(tmp_path, "pk/prompts/a.md")
    make(tmp_path, "pk/package.json", text="{")
    found = resolve(places, {"packages": ["../pk"]})
    assert paths(found, "prompts", tmp_path) == ["pk/prompts/a.md"]
    assert "package.json cannot be used" in found.problems[0]
