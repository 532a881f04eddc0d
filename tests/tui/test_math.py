from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from piolet.tui.math import to_unicode


@pytest.mark.parametrize(
    ("tex", "text"),
    [
        ("x^2", "x²"),
        ("x^{10}", "x¹⁰"),
        ("a_1 + a_{n-1}", "a₁ + aₙ₋₁"),
        ("x^22", "x²2"),
        (r"\alpha \leq \beta", "α ≤ β"),
        (r"O(n \log n)", "O(n log n)"),
        (r"\frac{a}{b+1}", "a/(b+1)"),
        (r"\sqrt{2}", "√2"),
        (r"\sqrt{x+1}", "√(x+1)"),
        (r"x \in \mathbb{R}", "x ∈ ℝ"),
        (r"e^{i\pi}", "e^(iπ)"),
        (r"\text{if } x", "if x"),
        (r"\sum_{i=1}^n i^2", "∑ᵢ₌₁ⁿ i²"),
        (r"100\%", "100%"),
    ],
)
def test_simple_formulas_are_written_in_unicode(tex: str, text: str) -> None:
    assert to_unicode(tex) == text


@pytest.mark.parametrize("tex", [r"\begin{matrix}", "{x", "x}", "x^", r"\unknown{x}", "a_{", r"\frac{a}"])
def test_what_has_no_form_on_a_line_is_left_alone(tex: str) -> None:
    assert to_unicode(tex) is None


@given(st.text("\\{}^_ ab1+frac sqrt", max_size=30))
def test_no_formula_breaks_it(tex: str) -> None:
    result = to_unicode(tex)
    assert result is None or "\\frac" not in result
