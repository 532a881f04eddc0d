"""Levels of thinking: which a model has, what the provider calls them, how many tokens they may cost.

Source: providers, section 11.
"""

from __future__ import annotations

from collections.abc import Mapping

from piolet.llm.messages import THINKING_LEVELS, AssistantMessage, ThinkingLevel
from piolet.llm.model import Model, StreamOptions

DEFAULT_BUDGETS: Mapping[str, int] = {"minimal": 1024, "low": 2048, "medium": 8192, "high": 16384}
ANSWER_TOKENS = 1024
"""At least so many tokens of the output stay for the answer."""


def supported_levels(model: Model) -> list[ThinkingLevel]:
    """Return the levels of `model` from low to high; only "off" for one that cannot think.

    ``xhigh`` and ``max`` need an entry in its level map; an entry that is null takes a level away.
    """
    if not model.reasoning:
        return ["off"]
    level_map = model.thinking_level_map or {}
    return [
        level
        for level in THINKING_LEVELS
        if (level_map.get(level) is not None if level in ("xhigh", "max") else level_map.get(level, "") is not None)
    ]


def clamp_level(model: Model, level: ThinkingLevel) -> ThinkingLevel:
    """Return `level` if `model` has it, else the next higher that it has, else the next lower."""
    supported = supported_levels(model)
    rank = THINKING_LEVELS.index
    higher = [candidate for candidate in supported if rank(candidate) >= rank(level)]
    return higher[0] if higher else supported[-1] if supported else "off"


def requested_level(model: Model, options: StreamOptions) -> ThinkingLevel:
    """Return the level that a request to `model` has; "off" when none was asked for."""
    return clamp_level(model, options.reasoning or "off") if model.reasoning else "off"


def provider_level(model: Model, level: ThinkingLevel) -> str:
    """Return what the provider calls `level`: the model's own word, else the level's name."""
    return (model.thinking_level_map or {}).get(level) or level


def level_of_answer(message: AssistantMessage, model: Model) -> str | None:
    """Return what the provider calls the level at which `model` itself gave an answer; None if another one did.

    Where the effort may change within a conversation, it stands before each answer, so that what was sent stays the
    beginning of what is sent next, and in the prompt cache.
    """
    same = (message.provider, message.api, message.model) == (model.provider, model.api, model.id)
    return message.provider_thinking_level if same else None


def thinking_budget(level: ThinkingLevel, budgets: Mapping[str, int]) -> int:
    """Return the tokens that thinking at `level` may cost. ``xhigh`` and ``max`` have that of ``high`` unless given."""
    known = {**DEFAULT_BUDGETS, **budgets}
    return known.get(level, known["high"])
