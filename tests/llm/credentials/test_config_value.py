"""Configuration values: variables, commands, escapes."""

from __future__ import annotations

import time

import pytest

from piolet.llm.credentials import config_value
from piolet.llm.credentials.config_value import ConfigValue, escape
from tests.support.config_values import resolved

ENV = {"TOK": "t0k", "TWO": "2", "EMPTY": "", "PATH": "/usr/bin:/bin"}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("plain", "plain"),
        ("pre-${TWO}-$TOK.$TWO", "pre-2-t0k.2"),
        ("${TOK}}", "t0k}"),
        ("$$$TOK", "$t0k"),
        ("$!x!", "!x!"),
        ("${a-b} ${} ${ TOK } $1x ${1A} $é $", "${a-b} ${} ${ TOK } $1x ${1A} $é $"),
        (" !printf hi", " !printf hi"),
        ("x$EMPTY", None),
        ("$UNSET", None),
        ("!printf ' a b\\n\\n'", "a b"),
        ("!echo $TOK", "t0k"),
        ("!true", None),
        ("!echo partial; exit 3", None),
        ("!", None),
    ],
)
def test_a_value_stands_for(text: str, value: str | None) -> None:
    assert resolved(text, ENV) == value


@pytest.mark.parametrize("text", ["sk-1", "$HOME", "!rm", "a$!b", "$$", "!$!"])
def test_an_escaped_text_stands_for_itself(text: str) -> None:
    assert resolved(escape(text), ENV) == text


def test_the_variables_of_a_value_are_named_also_when_they_are_missing() -> None:
    assert ConfigValue("$A-${B}$$C").env_names == ["A", "B"]
    assert ConfigValue("$TOK-$UNSET-$EMPTY").missing(ENV) == ["UNSET", "EMPTY"]
    assert ConfigValue("!echo $A").env_names == []


def test_a_command_that_hangs_is_killed_with_its_children(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config_value, "COMMAND_TIMEOUT", 0.3)
    started = time.monotonic()
    assert resolved("!sleep 60 & sleep 60; echo late", ENV) is None
    assert time.monotonic() - started < 30


def test_what_a_command_says_on_standard_error_goes_nowhere(capfd: pytest.CaptureFixture[str]) -> None:
    assert resolved("!echo secret >&2; echo key", ENV) == "key"
    assert capfd.readouterr().err == ""
