from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from piolet.app.resources.patterns import Patterns, is_glob, path_regex

BASE = "/agent"


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("b.md", "/agent/prompts/b.md", True),
        ("prompts/b.md", "/agent/prompts/b.md", True),
        ("prompts/*", "/agent/prompts/b.md", True),
        ("prompts/*", "/agent/prompts/sub/b.md", False),
        ("prompts/**", "/agent/prompts/sub/b.md", True),
        ("/agent/**/b.md", "/agent/prompts/b.md", True),
        ("**/b.md", "/agent/prompts/b.md", True),
        ("*.m?", "/agent/prompts/b.md", True),
        ("prompts/[!a].md", "/agent/prompts/b.md", True),
        ("prompts/[^ab].md", "/agent/prompts/b.md", False),
        ("{prompts,x}/{a,b}.md", "/agent/prompts/b.md", True),
        ("PROMPTS/b.md", "/agent/prompts/b.md", False),
        ("b", "/agent/prompts/b.md", False),
        ("prompts", "/agent/prompts/b.md", False),
        ("*", "/agent/prompts/.b.md", False),
        ("b", "/agent/skills/b/SKILL.md", True),
        ("skills/*", "/agent/skills/b/SKILL.md", True),
        ("skills/*", "/agent/skills/x/b/SKILL.md", False),
        ("SKILL.md", "/agent/skills/b/SKILL.md", True),
    ],
)
def test_a_glob_may_match_the_path_the_name_or_a_skills_folder(pattern: str, path: str, matches: bool) -> None:
    assert Patterns.of([f"!{pattern}"]).allows(path, BASE) is not matches
    assert Patterns.of([pattern]).allows(path, BASE) is matches


@pytest.mark.parametrize(
    ("pattern", "matches"),
    [
        ("skills/b", True),
        ("./skills/b", True),
        ("skills/b/", True),
        ("skills/b/SKILL.md", True),
        ("/agent/skills/b", True),
        ("b", False),
        ("SKILL.md", False),
        ("skills/*", False),
    ],
)
def test_an_exact_pattern_is_the_whole_path(pattern: str, matches: bool) -> None:
    assert Patterns.of([f"-{pattern}"]).allows("/agent/skills/b/SKILL.md", BASE) is not matches


def test_kinds_of_patterns_apply_in_a_fixed_order() -> None:
    path = "/agent/prompts/a.md"
    assert Patterns.of(["+prompts/a.md", "!*.md"]).allows(path, BASE)
    assert not Patterns.of(["-prompts/a.md", "+prompts/a.md"]).allows(path, BASE)
    assert not Patterns.of(["b.md"]).allows(path, BASE)
    assert Patterns.of([]).allows(path, BASE)


def test_patterns_may_have_nothing_to_say() -> None:
    patterns = Patterns.of(["b.md", "-prompts/c.md"])
    assert [patterns.decide(f"/agent/prompts/{name}.md", BASE) for name in "abc"] == [None, True, False]


@pytest.mark.parametrize(
    ("glob", "path", "matches"),
    [
        ("**", "a/b", True),
        ("**", "a/.b", False),
        ("a/**/b", "a/x/y/b", True),
        ("a/**/b", "a/.x/b", False),
        ("*/b", ".x/b", False),
        ("?x", ".x", False),
        ("[.]x", ".x", False),
        (".x/*", ".x/a", True),
        ("{*,b}", ".a", False),
        ("[", "[", True),
        ("{a", "{a", True),
    ],
)
def test_names_with_a_dot_are_met_by_a_dot_and_bad_globs_by_themselves(glob: str, path: str, matches: bool) -> None:
    assert bool(path_regex(glob).fullmatch(path)) is matches


def test_special_characters_make_a_glob() -> None:
    assert [is_glob(text) for text in ("a/b.md", "*", "a?", "[a]", "{a,b}")] == [False, True, True, True, True]


@given(st.text(st.sampled_from("ab*?[]{},!\\/.-^"), max_size=12))
def test_every_text_is_a_pattern(glob: str) -> None:
    path_regex(glob).fullmatch("a/b")
