"""The command line is read as its specification says (sections 1 and 2)."""

from __future__ import annotations

import pytest

from piolet.app.extensions.flags import GivenFlag
from piolet.cli.args import OPTIONS, parse_arguments
from piolet.cli.help import help_text
from piolet.cli.suggestions import unknown_options


def test_values_are_the_next_argument_and_the_last_one_wins() -> None:
    parsed = parse_arguments(["--model", "a", "--model", "-b", "hello", "@file", "@"])
    assert (parsed.model, parsed.messages, parsed.files) == ("-b", ["hello", "@"], ["file"])
    assert parsed.errors == []


def test_repeatable_options_keep_their_order_and_lists_lose_empty_items() -> None:
    parsed = parse_arguments(["-e", "a", "--extension", "b", "--models", "x,, y ,", "-t", "read,bash"])
    assert (parsed.extensions, parsed.models, parsed.tools) == (["a", "b"], ["x", "y"], ["read", "bash"])


@pytest.mark.parametrize(
    ("words", "messages", "files"),
    [
        (["-p", "--verbose"], [], []),
        (["-p", "hi", "there"], ["hi", "there"], []),
        (["-p", "---odd"], ["---odd"], []),
        (["-p", "@f", "hi"], ["hi"], ["f"]),
        (["-p", "auth"], ["auth"], []),
        (["--", "-p", "@f", "--model"], ["-p", "--model"], ["f"]),
    ],
)
def test_what_is_a_message(words: list[str], messages: list[str], files: list[str]) -> None:
    parsed = parse_arguments(words)
    assert (parsed.messages, parsed.files, parsed.errors) == (messages, files, [])


def test_flags_of_extensions_are_kept_for_later() -> None:
    parsed = parse_arguments(["--plan", "--level=3", "--color", "red", "--bare", "-p", "--session"])
    assert parsed.unknown_flags == {
        "plan": GivenFlag(),
        "level": GivenFlag("3", joined=True),
        "color": GivenFlag("red"),
        "bare": GivenFlag(),
        "session": GivenFlag(),
    }
    assert parsed.errors == []


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["-q"], "Unknown option: -q"),
        (["--mode", "html"], "--mode takes text or json or rpc"),
        (["--tui-mode", "wide"], "--tui-mode takes"),
        (["--name", "  "], "--name needs a name"),
        (["--name"], "--name needs a name"),
        (["--provider", "x"], "--provider needs --model"),
        (["--api-key", "x"], "--api-key needs a model"),
        (["--mode", "rpc", "@f"], "@file arguments are not supported in RPC mode"),
        (["-a", "-na"], "--approve cannot be combined with --no-approve"),
        (["--fork", "x", "--continue"], "--fork cannot be combined with --continue"),
        (["--fork", "x", "--session", "y"], "--fork cannot be combined with --session"),
        (["--fork", "x", "--resume"], "--fork cannot be combined with --resume"),
        (["--fork", "x", "--no-session"], "--fork cannot be combined with --no-session"),
        (["--session-id", "x", "--continue"], "--session-id cannot be combined with --continue"),
        (["--tools", "read,+bash"], "--tools takes either names or changes"),
    ],
)
def test_wrong_values_and_combinations_are_errors(words: list[str], error: str) -> None:
    (found,) = parse_arguments(words).errors
    assert found.startswith(error)


def test_a_wrong_thinking_level_is_a_warning_and_ignored() -> None:
    parsed = parse_arguments(["--thinking", "deep"])
    assert parsed.thinking is None
    assert parsed.warnings[0].startswith('Invalid thinking level "deep"')


def test_what_was_probably_meant_is_asked() -> None:
    (error,) = parse_arguments(["-ntt"]).errors
    assert error.startswith("Unknown option: -ntt. Did you mean -nt")


@pytest.mark.parametrize(
    ("word", "hint"),
    [("--model", "Its value is the next argument: --model PATTERN"), ("-t", "Its value is the next argument: -t A,B")],
)
def test_an_option_without_its_value_is_told_what_is_missing(word: str, hint: str) -> None:
    assert unknown_options([word]) == f"Unknown option: {word}. {hint}"


def test_help_names_every_option() -> None:
    text = help_text([("plan", "plan first")])
    for option in OPTIONS:
        for name in option.names:
            assert name in text
    assert "--plan" in text
