from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from piolet.base.frontmatter import FrontmatterError, _load_any, _load_easy, parse_fields, parse_frontmatter


def load(yaml: str) -> object:
    return parse_frontmatter(f"---\n{yaml}\n---\nbody")[0]


def test_text_without_front_matter_is_its_own_body() -> None:
    assert parse_frontmatter("\ufeffa\r\nb") == ({}, "a\nb")


@pytest.mark.parametrize(
    ("yaml", "expected"),
    [
        ("a: yes\nb: no\nc: on\nd: off", {"a": "yes", "b": "no", "c": "on", "d": "off"}),
        ("a: 010\nb: 0o10\nc: 0x1F\nd: 1_000\ne: 0b11", {"a": 10, "b": 8, "c": 31, "d": "1_000", "e": "0b11"}),
        ("a: 2024-01-01\nb: 2001-12-14t21:59:43.10-05:00\nc: 1:30", None),
        ("a: 1e3\nb: .5\nc: -.5e1\nd: 1.", {"a": 1000, "b": 0.5, "c": -5, "d": 1}),
        ("a: TRUE\nb: tRue\nc: NULL\nd: ~\ne:", {"a": True, "b": "tRue", "c": None, "d": None, "e": None}),
        ("<<: {a: 1}\nb: =", {"<<": {"a": 1}, "b": "="}),
        ("1: a\ntrue: b", {"1": "a", "true": "b"}),
        ("a: &x [1]\nb: *x", {"a": [1], "b": [1]}),
        ("a: !!python/object:os.system x", {"a": "x"}),
        ("a: !!str 010\nb: '010'", {"a": "010", "b": "010"}),
        ("a:\tx\ty", {"a": "x y"}),
        ("null", {}),
        ("[1, two]", [1, "two"]),
    ],
)
def test_yaml_means_what_its_core_schema_says(yaml: str, expected: object) -> None:
    if expected is None:
        expected = dict(line.split(": ") for line in yaml.split("\n"))
    assert load(yaml) == expected


def test_special_numbers_are_numbers() -> None:
    value = load("a: -.inf\nb: .NaN")
    assert isinstance(value, dict)
    assert value["a"] == -math.inf
    assert math.isnan(value["b"])


@pytest.mark.parametrize(
    "yaml",
    [
        "a: 1\na: 2",
        "a: {b: 1, b: 2}",
        "a: [1",
        "a:\n\tb: 1",
        "a: *nope",
        "a: b: c",
        "? [1]\n: 2",
        "a: @b",
        "a: &x [*x]",
        "a: 1\n...\nb: 2",
        "a: " + "[" * 100_000,
    ],
)
def test_bad_yaml_is_refused_in_one_line(yaml: str) -> None:
    with pytest.raises(FrontmatterError, match=r"^the front matter is no valid YAML: [^\n]+$"):
        load(yaml)


def test_front_matter_that_is_no_mapping_has_no_fields() -> None:
    assert parse_fields("---\njust text\n---\nbody") == ({}, "body")


@given(st.lists(st.tuples(st.sampled_from(["a", "b-c", "description"]), st.text(st.characters(max_codepoint=0x2FF)))))
def test_the_quick_reading_of_plain_lines_agrees_with_the_parser(fields: list[tuple[str, str]]) -> None:
    yaml = "\n".join(f"{key}: {value}" for key, value in fields)
    easy = _load_easy(yaml)
    if easy is not None:
        assert _load_any(yaml) == easy


def test_plain_lines_do_not_load_the_parser() -> None:
    program = (
        "import sys\nfrom piolet.base.frontmatter import parse_frontmatter\n"
        "assert parse_frontmatter('---\\nname: x\\nuse: \"a: b\"\\n---\\nb')[0]['use'] == 'a: b'\n"
        "assert 'ruamel.yaml' not in sys.modules\n"
    )
    src = str(Path(__file__).parents[2] / "src")
    subprocess.run([sys.executable, "-c", program], check=True, env={"PYTHONPATH": src})
