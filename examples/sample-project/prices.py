"""Sums of prices."""


def total(prices, discount=0):
    """Return the sum of `prices`, less `discount` percent."""
    return sum(prices) - sum(prices) * discount / 10
