"""Levels of thinking: which there are, and what stands in for a missing one."""

from __future__ import annotations

from typing import Any

import pytest

from piolet.llm.model import StreamOptions
from piolet.llm.thinking import clamp_level, provider_level, requested_level, supported_levels, thinking_budget
from tests.llm.wire import model_at


def model(level_map: dict[str, str | None] | None = None, reasoning: bool = True) -> Any:
    return model_at("", reasoning=reasoning, thinking_level_map=level_map)


def test_levels_of_a_model() -> None:
    assert supported_levels(model()) == ["off", "minimal", "low", "medium", "high"]
    assert supported_levels(model(reasoning=False)) == ["off"]
    with_more = model({"off": None, "minimal": None, "xhigh": "x", "max": None})
    assert supported_levels(with_more) == ["low", "medium", "high", "xhigh"]


@pytest.mark.parametrize(
    ("level_map", "wanted", "found"),
    [
        ({}, "medium", "medium"),
        ({}, "max", "high"),
        ({"xhigh": "x"}, "max", "xhigh"),
        ({"minimal": None}, "minimal", "low"),
        ({"off": None}, "off", "minimal"),
        ({"high": None, "medium": None}, "high", "low"),
        (dict.fromkeys(["off", "minimal", "low", "medium", "high"]), "low", "off"),
    ],
)
def test_a_missing_level_becomes_the_next_higher_else_the_next_lower(
    level_map: dict[str, str | None], wanted: Any, found: str
) -> None:
    assert clamp_level(model(level_map), wanted) == found


def test_a_request_without_a_level_is_off() -> None:
    assert requested_level(model(), StreamOptions()) == "off"
    assert requested_level(model(), StreamOptions(reasoning="low")) == "low"
    assert requested_level(model(reasoning=False), StreamOptions(reasoning="low")) == "off"


def test_words_and_budgets() -> None:
    assert provider_level(model({"high": "hi"}), "high") == "hi"
    assert provider_level(model(), "high") == "high"
    budgets = [thinking_budget(level, {}) for level in ("minimal", "low", "medium", "high", "xhigh", "max")]
    assert budgets == [1024, 2048, 8192, 16384, 16384, 16384]
    assert thinking_budget("max", {"high": 5}) == 5
    assert thinking_budget("low", {"low": 7}) == 7
