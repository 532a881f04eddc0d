"""Patterns for models: what they find, what they warn of."""

from __future__ import annotations

import pytest

from piolet.llm.messages import ThinkingLevel
from piolet.llm.model import Model, ModelCost
from piolet.llm.patterns import resolve_choice, resolve_scope


def model(key: str, *, name: str | None = None) -> Model:
    provider, _, model_id = key.partition("|")
    return Model(model_id, name or model_id, "a", provider, "", True, ["text"], ModelCost(), 1000, 100)


MODELS = [
    model("acme|swift-3"),
    model("acme|swift-3-20250601"),
    model("acme|Large"),
    model("beta|swift-3"),
    model("gate|acme/swift-3"),
    model("gate|org/mid:free"),
    model("gate/eu|acme/swift-3"),
]


def keys(*patterns: str) -> list[str]:
    return [found.model.key for found in resolve_scope(patterns, MODELS).models]


def choose(pattern: str, *auth: str, provider: str | None = None, thinking_given: bool = False) -> str | None:
    choice = resolve_choice(
        pattern, MODELS, lambda name: name in auth, provider=provider, thinking_given=thinking_given
    )
    return choice.model.key + (f" {choice.thinking}" if choice.thinking else "") if choice.model else None


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        (
            "acme/**",
            ["acme/swift-3", "acme/swift-3-20250601", "acme/Large", "gate/acme/swift-3", "gate/eu/acme/swift-3"],
        ),
        ("*/swift-?", ["acme/swift-3", "beta/swift-3", "gate/acme/swift-3", "gate/eu/acme/swift-3"]),
        ("**/swift-3", ["acme/swift-3", "beta/swift-3", "gate/acme/swift-3", "gate/eu/acme/swift-3"]),
        ("LARG[a-f]", ["acme/Large"]),
        ("*[!3e]", ["acme/swift-3-20250601"]),
        ("gate/*/mid:free", ["gate/org/mid:free"]),
        ("[z-a]", []),
        ("[abc", []),
    ],
)
def test_globs_match_the_id_or_provider_and_id(pattern: str, found: list[str]) -> None:
    assert keys(pattern) == found


def test_the_longest_provider_that_begins_a_pattern_counts() -> None:
    assert keys("gate/eu/acme/swift-3") == ["gate/eu/acme/swift-3"]
    assert choose("gate/eu/acme/swift-3") == "gate/eu/acme/swift-3"


def test_a_wrong_level_is_dropped_from_a_scope_with_a_warning() -> None:
    scope = resolve_scope(["large:huge", "nothing"], MODELS)
    assert [(found.model.key, found.thinking) for found in scope.models] == [("acme/Large", None)]
    assert [(warning.code, warning.text) for warning in scope.warnings] == [
        ("invalid-thinking", 'Invalid thinking level "huge" in pattern "large:huge". Using default instead.'),
        ("no-match", 'No models match pattern "nothing"'),
    ]


@pytest.mark.parametrize(
    ("pattern", "auth", "found"),
    [
        ("swift-3", ["beta"], "beta/swift-3"),
        ("swift", ["acme"], "acme/swift-3"),
        ("acme/swift-3:low", ["gate"], "gate/acme/swift-3 low"),
        ("acme/swift-3", ["gate", "gate/eu"], "acme/swift-3"),
        ("acme/large:max", [], "acme/Large max"),
        ("large:high:low", [], "acme/Large low"),
        ("acme/acme/swift-3", [], "acme/acme/swift-3"),
    ],
)
def test_one_model_is_chosen_by_what_has_credentials(pattern: str, auth: list[str], found: str) -> None:
    assert choose(pattern, *auth) == found


@pytest.mark.parametrize(
    ("given", "level", "found"),
    [(False, "high", "beta/new high"), (False, "off", "beta/new off"), (True, "high", "beta/new:high")],
)
def test_a_level_is_split_off_a_custom_id_unless_a_level_is_given(
    given: bool, level: ThinkingLevel, found: str
) -> None:
    assert choose(f"new:{level}", provider="BETA", thinking_given=given) == found


def test_errors_name_what_was_looked_for_and_the_way_on() -> None:
    def error(pattern: str, provider: str | None = None) -> str:
        found = resolve_choice(pattern, MODELS, lambda name: True, provider=provider).error
        return found.text if found else ""

    assert "acme/swift-3, beta/swift-3" in error("swift-3")
    assert "--provider" in error("swift-3")
    assert error("swift-3", "nope").startswith('Unknown provider "nope"')
    assert error("zzz") == 'Model "zzz" not found. Use --list-models to see available models.'


@pytest.mark.parametrize(
    ("pattern", "provider", "meant"),
    [
        ("acm/swift-3", None, "acme/swift-3"),
        ("swfit-3-2025", None, "swift-3-20250601"),
        ("swift-3-20250601:hihg", None, "swift-3-20250601"),
        ("swift-3", "acne", "acme"),
    ],
)
def test_an_error_asks_whether_a_model_or_provider_of_a_like_name_was_meant(
    pattern: str, provider: str | None, meant: str
) -> None:
    error = resolve_choice(pattern, MODELS, lambda name: True, provider=provider).error
    assert error is not None
    _, found, said = error.text.partition(" Did you mean ")
    assert found
    assert meant in said.removesuffix("?").split(" or ")
