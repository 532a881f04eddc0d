from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from piolet.harness.prompt.templates import PromptTemplate, expand_template, fill, parse_template, split_arguments


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('"a b"c d', ["a bc", "d"]),
        ('"a""b"', ['a"b"']),
        (r'"a\\" b', [r'"a\\"', "b"]),
        (r'"a\\\" b" c', [r'a\\" b', "c"]),
        ("'a \"b", ["'a", '"b']),
        ('""x y', ["x", "y"]),
        ("a\u0085b\x1cc", ["a\u0085b\x1cc"]),
        ("a\ufeffb\u00a0c\u2028d", ["a", "b", "c", "d"]),
    ],
)
def test_a_quote_counts_where_an_argument_begins_and_only_if_it_is_closed(text: str, expected: list[str]) -> None:
    assert split_arguments(text) == expected


@given(st.text(st.sampled_from("ab \"'\\\n=")))
def test_splitting_ends_and_loses_no_letter(text: str) -> None:
    letters = [c for argument in split_arguments(text) for c in argument if c in "ab="]
    assert letters == [c for c in text if c in "ab="]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["x", "y"], "x>y"),
        (["second=2", "x"], "x>2"),
        (["first=1=1", "second="], "1=1>"),
        (["other=3"], "other=3>"),
        ([], ">"),
        (["$1", "{{first}}"], "$1>{{first}}"),
        (["first=a", "first=b"], "a>first=b"),
    ],
)
def test_declared_names_are_filled_by_name_then_by_position(arguments: list[str], expected: str) -> None:
    assert fill("{{first}}>{{second}}", arguments, ["first", "second"]) == expected


def test_names_that_are_not_declared_stay_literal() -> None:
    assert fill("{{first}} {{other}} {{ first }} {{}}", ["x"], ["first"]) == "x {{other}} {{ first }} {{}}"
    assert fill("{{first}}", ["x"]) == "{{first}}"


def test_numbers_of_any_length_are_only_missing() -> None:
    digits = "9" * 5000
    assert fill(f"[${digits}][${{@:{digits}}}][${{@:1:{digits}}}]", ["a"]) == "[][][a]"


def test_what_is_no_placeholder_stays() -> None:
    assert fill("${1} ${@} $$ $NAME ${2:-} $", ["a"]) == "${1} ${@} $$ $NAME  $"


def test_front_matter_gives_description_hint_and_names() -> None:
    template = parse_template(
        "fix",
        "---\ndescription: Fix it\nargument-hint: <what>\narguments: [what, 3]\n---\n\nDo {{what}}\n",
        "/p/fix.md",
    )
    assert template == PromptTemplate("fix", "Fix it", "Do {{what}}", "/p/fix.md", "<what>", ["what"])
    assert expand_template("/fix the bug", [template]) == "Do the"


def test_description_is_the_first_line_that_says_something() -> None:
    assert parse_template("a", "\n \n  first\nsecond").description == "  first"
    assert parse_template("a", "x" * 61).description == "x" * 60 + "..."
    assert parse_template("a", "").description == ""


def test_a_template_is_called_at_the_very_start_only() -> None:
    templates = [PromptTemplate("t", "", "[$1]"), PromptTemplate("t", "", "shadowed")]
    assert expand_template("/t\n x", templates) == "[x]"
    for text in (" /t x", "/T x", "//t x", "/tt", "t"):
        assert expand_template(text, templates) == text
