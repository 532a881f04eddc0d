"""What a request costs."""

from __future__ import annotations

import pytest

from piolet.llm.cost import priced
from piolet.llm.messages import NO_COST, Usage
from piolet.llm.model import CostTier, ModelCost
from tests.llm.wire import model_at

USAGE = Usage(1000, 100, 2000, 300, 3400, NO_COST, cache_write_1h=100)


def test_rates_are_dollars_per_million_and_long_cache_writes_cost_twice_the_input() -> None:
    cost = priced(USAGE, ModelCost(3, 15, 0.3, 3.75)).cost
    assert cost.input == pytest.approx(0.003)
    assert cost.output == pytest.approx(0.0015)
    assert cost.cache_read == pytest.approx(0.0006)
    assert cost.cache_write == pytest.approx(200 * 3.75e-6 + 100 * 6e-6)
    assert cost.total == pytest.approx(cost.input + cost.output + cost.cache_read + cost.cache_write)
    assert cost.total_from_provider is None


@pytest.mark.parametrize(("above", "expected"), [((3300,), 1), ((3299,), 2), ((1000, 3299), 3), ((3299, 1000), 2)])
def test_the_highest_tier_below_the_input_prices_the_whole_request(above: tuple[int, ...], expected: float) -> None:
    tiers = [CostTier(limit, 2.0 + rank, 0, 0, 0) for rank, limit in enumerate(above)]
    cost = priced(USAGE, ModelCost(1, 0, 0, 0, tiers)).cost
    assert cost.input == pytest.approx(expected * 1000 / 1_000_000)


def test_service_tiers_multiply_and_a_bill_replaces_the_total() -> None:
    model = model_at("", cost=ModelCost(1, 1, 1, 1))
    assert priced(USAGE, model.cost, factor=0.5).cost.output == pytest.approx(0.00005)
    cost = priced(USAGE, model.cost, provider_total=0.25).cost
    assert (cost.total, cost.total_from_provider) == (0.25, True)
    assert cost.input == pytest.approx(0.001)
