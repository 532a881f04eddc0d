from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from piolet.base.globs import glob_regex, is_glob


@pytest.mark.parametrize(
    ("glob", "path", "matches"),
    [
        ("**", "a/b", True),
        ("**", "a/.b", False),
        ("a/**/b", "a/b", True),
        ("a/**/b", "a/x/y/b", True),
        ("a/**/b", "a/.x/b", False),
        ("a**b", "axxb", True),
        ("a**b", "a/b", False),
        (".x/*", ".x/a", True),
        ("{a,{b,c}}d", "cd", True),
        ("{a}", "{a}", True),
        ("{a,b", "{a,b", True),
        ("[", "[", True),
        ("[]]", "]", True),
        (r"\*", "*", True),
        (r"\*", "a", False),
        ("[a-c]x", "bx", True),
        ("a[!/]b", "a/b", False),
    ],
)
def test_globs_agree_with_whole_paths(glob: str, path: str, matches: bool) -> None:
    assert bool(glob_regex(glob).fullmatch(path)) is matches


def test_special_characters_make_a_glob() -> None:
    assert [is_glob(text) for text in ("a/b.md", "*", "a?", "[a]", "{a,b}")] == [False, True, True, True, True]


@given(st.text(st.sampled_from("ab*?[]{},!\\/.-^"), max_size=12))
def test_every_text_is_a_glob(glob: str) -> None:
    glob_regex(glob).fullmatch("a/b")
