from __future__ import annotations

import json as stdlib
import math
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from piolet.base import json

FLOATS = st.floats(allow_nan=False, allow_infinity=False)
TEXTS = st.text(st.characters(codec="utf-8"))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | FLOATS | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (-0.0, "0"),
        (1.0, "1"),
        (-1.0, "-1"),
        (0.1, "0.1"),
        (-1.5, "-1.5"),
        (100.0, "100"),
        (0.1 + 0.2, "0.30000000000000004"),
        (123456.789, "123456.789"),
        (1e-6, "0.000001"),
        (1.5e-6, "0.0000015"),
        (1e-7, "1e-7"),
        (-1.25e-7, "-1.25e-7"),
        (1e16, "10000000000000000"),
        (1e20, "100000000000000000000"),
        (123456789012345680000.0, "123456789012345680000"),
        (1e21, "1e+21"),
        (1.5e300, "1.5e+300"),
        (5e-324, "5e-324"),
        (1.7976931348623157e308, "1.7976931348623157e+308"),
        (math.nan, "null"),
        (math.inf, "null"),
        (-math.inf, "null"),
    ],
)
def test_numbers_have_the_form_of_ecmascript_wherever_they_stand(value: float, text: str) -> None:
    assert json.dumps(value) == text
    assert json.dumps([value, value]) == f"[{text},{text}]"
    assert json.dumps({"a": value, "b": {"c": value}}) == f'{{"a":{text},"b":{{"c":{text}}}}}'


@given(FLOATS)
def test_a_number_is_read_back_the_same_and_has_an_exponent_only_where_ecmascript_has_one(value: float) -> None:
    text = json.dumps(value)
    assert float(text) == value
    assert re.fullmatch(r"-?(0|[1-9][0-9]*)(\.[0-9]*[1-9])?(e[+-][1-9][0-9]*)?", text)
    assert ("e" in text) == (value != 0 and not 1e-6 <= abs(value) < 1e21)


@given(st.integers())
def test_integers_of_any_size_keep_every_digit(value: int) -> None:
    assert json.dumps(value) == str(value)


def test_text_is_raw_but_for_quotes_backslashes_and_control_characters() -> None:
    assert json.dumps('ü€😀\x7f\u2028/<>&"\\') == '"ü€😀\x7f\u2028/<>&\\"\\\\"'
    assert json.dumps("\b\f\n\r\t\x00\x0b\x1f") == r'"\b\f\n\r\t\u0000\u000b\u001f"'


def test_lone_surrogates_are_escaped_in_values_and_keys() -> None:
    assert json.encode({"\ud83d": ["a\udc00ü", 1.0]}) == '{"\\ud83d":["a\\udc00ü",1]}'.encode()


@given(st.text() | st.lists(st.text()) | st.dictionaries(st.text(), st.text()))
def test_any_text_is_valid_utf8_and_read_back_the_same(value: Any) -> None:
    assert stdlib.loads(json.encode(value)) == value


@given(VALUES)
def test_any_value_is_read_back_the_same_and_numbers_inside_a_text_are_left_alone(value: Any) -> None:
    both = {"text": json.dumps(value), "value": value}
    assert stdlib.loads(json.dumps(both), parse_int=float) == both


def test_the_order_of_keys_is_kept_and_nothing_is_spaced() -> None:
    assert json.dumps({"b": [1, 2], "a": {}, "": []}) == '{"b":[1,2],"a":{},"":[]}'


def test_structs_are_written_by_their_wire_names_and_raw_values_as_they_were() -> None:
    class Unknown:
        def __init__(self, raw: Any) -> None:
            self.raw = raw

    class Point(msgspec.Struct, rename="camel", omit_defaults=True):
        big_x: float
        note: Any = None

    assert json.dumps(Point(2.0)) == '{"bigX":2}'
    assert json.dumps(Point(2.5, note=Unknown({"unknownField": 1.0}))) == '{"bigX":2.5,"note":{"unknownField":1}}'


def test_what_has_no_json_form_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="object has no JSON form"):
        json.dumps(object())


def test_number_makes_integral_floats_integers_unless_they_are_inexact() -> None:
    assert (json.number(3.0), type(json.number(3.0))) == (3, int)
    assert (json.number(3.5), type(json.number(2.0**53))) == (3.5, float)


Judge = Callable[[str], str]


@pytest.fixture(scope="module")
def javascript() -> Iterator[Judge]:
    """A function that reads a line of JSON and writes it again, in JavaScript."""
    node = shutil.which("node", path=os.pathsep.join([os.environ.get("NODE_BIN", ""), os.environ["PATH"]]))
    if node is None:
        pytest.skip("node is not installed")
    program = """
        require("readline").createInterface({input: process.stdin})
            .on("line", line => console.log(JSON.stringify(JSON.parse(line))))
    """
    with subprocess.Popen(
        [node, "-e", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        cwd=Path.home(),
    ) as process:
        stdin, stdout = process.stdin, process.stdout
        assert stdin is not None
        assert stdout is not None

        def judge(line: str) -> str:
            stdin.write(line + "\n")
            stdin.flush()
            return stdout.readline().removesuffix("\n")

        yield judge
        process.kill()


def plain_keys(value: Any) -> Any:
    """Keys that JavaScript would sort (whole numbers) or treat apart get a letter in front."""
    match value:
        case dict():
            return {"k" + key: plain_keys(item) for key, item in value.items()}
        case list():
            return [plain_keys(item) for item in value]
    return value


@given(VALUES.map(plain_keys))
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_javascript_writes_the_same(javascript: Judge, value: Any) -> None:
    assert json.dumps(value) == javascript(stdlib.dumps(value))


@pytest.mark.soak
@given(st.lists(FLOATS, min_size=100, max_size=100))
@settings(max_examples=2_000, suppress_health_check=list(HealthCheck), deadline=None)
def test_javascript_writes_the_same_numbers(javascript: Judge, values: list[float]) -> None:
    assert json.dumps(values) == javascript(stdlib.dumps(values))
