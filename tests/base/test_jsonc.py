"""JSON with comments and trailing commas."""

from __future__ import annotations

import json
import time

import pytest

from piolet.base import jsonc


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 1}', {"a": 1}),
        ('{"a": 1, // one\n "b": [2, 3,], /* two\n lines */ }', {"a": 1, "b": [2, 3]}),
        ('["// no comment", "/* none */", ",]", "\\"//"]', ["// no comment", "/* none */", ",]", '"//']),
        ("[1, // last\n /* really */ ]", [1]),
        ("\ufeff{}", {}),
    ],
)
def test_comments_and_trailing_commas_are_tolerated(text: str, value: object) -> None:
    assert jsonc.loads(text) == value


def test_an_error_names_the_line_of_the_file() -> None:
    with pytest.raises(json.JSONDecodeError) as caught:
        jsonc.loads('{\n// a comment\n"a": oops}')
    assert caught.value.lineno == 3


@pytest.mark.parametrize("text", ["[1,,]", "", "[1 /* open", '{"a": 1} x'])
def test_other_mistakes_stay_errors(text: str) -> None:
    with pytest.raises(ValueError):
        jsonc.loads(text)


def test_a_long_run_of_slashes_takes_no_time() -> None:
    started = time.thread_time()
    with pytest.raises(ValueError):
        jsonc.loads("[1, " + "/" * 5000 + "\n x]")
    assert time.thread_time() - started < 1
