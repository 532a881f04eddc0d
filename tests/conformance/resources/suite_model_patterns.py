"""Model patterns: scopes of ``--models``, the choice of ``--model`` and ``--provider``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from piolet.llm.model import Model, ModelCost
from piolet.llm.patterns import resolve_choice, resolve_scope
from tests.conformance.outcome import equal


def _models(shared: Mapping[str, Any]) -> list[Model]:
    return [
        Model(
            **entry,
            api="openai-completions",
            base_url="https://x.example/v1",
            input=["text"],
            cost=ModelCost(),
            context_window=1000,
            max_tokens=100,
        )
        for entry in shared["models"]
    ]


def model_scope(case: Mapping[str, Any], shared: Mapping[str, Any]) -> None:
    scope = resolve_scope(case["in"]["patterns"], _models(shared))
    models = [{"ref": found.model.key, "thinking": found.thinking} for found in scope.models]
    warnings = [{"pattern": warning.pattern, "code": warning.code} for warning in scope.warnings]
    equal({"models": models, "warnings": warnings}, case["out"])


def cli_model(case: Mapping[str, Any], shared: Mapping[str, Any]) -> None:
    asked = case["in"]
    choice = resolve_choice(
        asked.get("model"),
        [] if asked.get("empty") else _models(shared),
        lambda provider: "apiKey" in asked or provider in asked.get("auth", ()),
        provider=asked.get("provider"),
        thinking_given="thinking" in asked,
    )
    actual = {
        "ref": choice.model and choice.model.key,
        "reasoning": choice.model and choice.model.reasoning,
        "thinking": choice.thinking,
        "warning": choice.warning and choice.warning.code,
        "error": choice.error and choice.error.code,
    }
    equal(actual, case["out"])


OPS: dict[str, Callable[[Mapping[str, Any], Mapping[str, Any]], None]] = {
    "model_scope": model_scope,
    "cli_model": cli_model,
}
