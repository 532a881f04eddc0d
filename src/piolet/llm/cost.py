"""What a request costs, from its token counts and the model's rates. Source: providers, section 1."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any

from msgspec.structs import replace

from piolet.llm.messages import Cost, Usage
from piolet.llm.model import CostTier, Model, ModelCost


def priced(usage: Usage, cost_of_model: ModelCost, factor: float = 1.0, provider_total: float | None = None) -> Usage:
    """Return `usage` with its cost in US dollars.

    `factor`: what a service tier multiplies the rates by. `provider_total`: what the provider says it billed, which
    replaces the total.
    """
    rates = rates_for(cost_of_model, usage.input + usage.cache_read + usage.cache_write)
    long_writes = usage.cache_write_1h or 0
    fresh = rates.input / 1_000_000 * usage.input * factor
    output = rates.output / 1_000_000 * usage.output * factor
    cache_read = rates.cache_read / 1_000_000 * usage.cache_read * factor
    # A write that lives for an hour costs twice the input rate.
    short_writes = usage.cache_write - long_writes
    cache_write = (rates.cache_write * short_writes + rates.input * 2 * long_writes) / 1_000_000 * factor
    total = fresh + output + cache_read + cache_write if provider_total is None else provider_total
    cost = Cost(fresh, output, cache_read, cache_write, total, True if provider_total is not None else None)
    return replace(usage, cost=cost)


def billed_total(model: Model, usage: Mapping[str, Any]) -> float | None:
    """Return what the provider says in its own `usage` that it billed; only OpenRouter's word counts."""
    billed = usage.get("cost")
    at_openrouter = model.provider == "openrouter" or model.host == "openrouter.ai"
    return float(billed) if at_openrouter and isinstance(billed, int | float) and isfinite(billed) else None


def rates_for(cost: ModelCost, input_tokens: int) -> ModelCost | CostTier:
    """Return the rates of the whole request: of the highest tier that `input_tokens` is above, else the plain ones."""
    tiers = [tier for tier in cost.tiers or () if input_tokens > tier.input_tokens_above]
    return max(tiers, key=lambda tier: tier.input_tokens_above, default=cost)
