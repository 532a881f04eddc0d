"""What Google's services expect differs by model: its generation, how it thinks. Source: providers, section 8."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from piolet.llm.messages import ThinkingLevel
from piolet.llm.model import Model
from piolet.llm.thinking import provider_level

#: Tokens of thinking by level, of the models that are asked for a number; -1 lets the model decide.
_BUDGETS: Mapping[str, Mapping[str, int]] = {
    "gemini-2.5-pro": {"minimal": 128, "low": 2048, "medium": 8192, "high": 32768},
    "gemini-2.5-flash-lite": {"minimal": 512, "low": 2048, "medium": 8192, "high": 24576},
    "gemini-2.5-flash": {"minimal": 128, "low": 2048, "medium": 8192, "high": 24576},
}
_UNLIMITED = -1


def generation(model: Model) -> int:
    """Return the number of a Gemini model; 0 for others. Names without number mean the latest, which is 3 or more."""
    if found := re.search(r"\bgemini-(\d+)", model.id):
        return int(found[1])
    return 3 if re.search(r"\bgemini-(?:pro|flash|flash-lite)-latest\b", model.id) else 0


def wants_call_ids(model: Model) -> bool:
    """Return whether calls and results go back with their ids. Older models know calls by name and order."""
    return generation(model) >= 3 or model.id.startswith(("claude-", "gpt-oss-"))


def thinking_config(model: Model, level: ThinkingLevel, budgets: Mapping[str, int]) -> dict[str, Any]:
    """Return what asks `model` to think at `level`; `budgets` are the caller's, in tokens."""
    if level == "off":
        # The larger of this generation cannot stop thinking: zero is an error.
        smallest = _BUDGETS["gemini-2.5-pro"]["minimal"] if "gemini-2.5-pro" in model.id else 0
        return {"thinkingBudget": smallest}
    by_level = generation(model) >= 3 or "gemma-4" in model.id or any((model.thinking_level_map or {}).values())
    if by_level:
        return {"includeThoughts": True, "thinkingLevel": provider_level(model, level).upper()}
    known: Mapping[str, int] = next((sizes for name, sizes in _BUDGETS.items() if name in model.id), {})
    size = budgets.get(level, known.get(level, known.get("high", _UNLIMITED)))
    return {"includeThoughts": True, "thinkingBudget": size}
