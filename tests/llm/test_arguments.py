"""Arguments of tool calls, while they grow and when they are complete."""

from __future__ import annotations

import json
import re
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from piolet.llm.arguments import PartialArguments, parse_final, repair


def grown(*pieces: str) -> dict[str, Any]:
    arguments = PartialArguments()
    for piece in pieces:
        arguments.feed(piece)
    return arguments.value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", {}),
        ("{", {}),
        ('{"a', {}),
        ('{"a":', {}),
        ('{"a":"x', {"a": "x"}),
        ('{"a":"x\\', {"a": "x"}),
        ('{"a":"x\\u00e', {"a": "x"}),
        ('{"a":"x\\ud83d', {"a": "x"}),
        ('{"a":1,"b', {"a": 1}),
        ('{"a":[1,{"b":"c', {"a": [1, {"b": "c"}]}),
        ('{"a":"line1\nline2', {"a": "line1\nline2"}),
        ('{"a":"C:\\dir', {"a": "C:\\dir"}),
        ('{"a":"\\usepackage', {"a": "\\usepackage"}),
        ("[1,2", {}),
        ('"text', {}),
        ("nonsense", {}),
    ],
)
def test_a_prefix_shows_what_is_there(text: str, value: dict[str, Any]) -> None:
    assert grown(text) == value


def test_the_last_good_value_stays_when_a_prefix_does_not_read() -> None:
    arguments = PartialArguments()
    arguments.feed('{"a":1')
    assert arguments.value == {"a": 1}
    arguments.feed("}}}garbage")
    assert arguments.value == {"a": 1}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a":1.0}', {"a": 1.0}),
        ("", {}),
        (" \n", {}),
        ('{"t":"tab\there\nand line"}', {"t": "tab\there\nand line"}),
        ('{"t":"\x00\x1f"}', {"t": "\x00\x1f"}),
        ('{"p":"C:\\dir\\new"}', {"p": "C:\\dir\new"}),
        ('{"x":"\\usepackage \\u00e9"}', {"x": "\\usepackage é"}),
        ('{"a":"\\ud83d\\ude00"}', {"a": "😀"}),
        ('{"a":"\\\\d \\" \\/"}', {"a": '\\d " /'}),
    ],
)
def test_complete_text_is_parsed_with_harmless_repairs(text: str, value: dict[str, Any]) -> None:
    assert parse_final(text) == (value, None)


@pytest.mark.parametrize(
    "text", ['{"a":"cut', '{"a":1,', '{"a":1}{"b":2}', "[1]", "null", '"text"', '{"a":NaN}', "{'a':1}", "[" * 100_000]
)
def test_other_text_is_an_empty_object_and_a_problem(text: str) -> None:
    value, problem = parse_final(text)
    assert value == {}
    assert problem is not None
    assert text[:10] in problem
    assert len(problem) < 3000


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**12), 10**12) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)
OBJECTS = st.dictionaries(st.text(max_size=5), JSON, max_size=4)


@given(OBJECTS, st.booleans(), st.integers(1, 20))
def test_good_json_comes_through_in_any_pieces(value: dict[str, Any], ascii_only: bool, size: int) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only)
    assert repair(text) == text
    assert parse_final(text) == (value, None)
    arguments = PartialArguments()
    for start in range(0, len(text), size):
        arguments.feed(text[start : start + size])
        assert isinstance(arguments.value, dict)
        assert arguments.value.keys() <= value.keys()
    assert arguments.value == value


@given(OBJECTS)
def test_raw_line_breaks_in_strings_are_repaired_without_loss(value: dict[str, Any]) -> None:
    raw_characters = {"\\n": "\n", "\\t": "\t", "\\r": "\r"}
    raw = re.sub(r"\\.", lambda escape: raw_characters.get(escape[0], escape[0]), json.dumps(value))
    assert parse_final(raw) == (value, None)


@pytest.mark.parametrize("line", ["plain text of a line\n", "raw \\d escape \n"])
def test_work_is_linear_in_the_length_of_the_text(line: str) -> None:
    def seconds(chars: int) -> float:
        text = json.dumps({"content": line * (chars // len(line))}).replace("\\\\", "\\")
        best = float("inf")
        for _ in range(2):
            arguments = PartialArguments()
            began = time.process_time()
            for start in range(0, len(text), 12):
                arguments.feed(text[start : start + 12])
                assert arguments.value is not None
            best = min(best, time.process_time() - began)
        return best

    assert seconds(128_000) < seconds(32_000) * 8
