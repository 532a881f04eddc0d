"""One colour value."""

from __future__ import annotations

from typing import Any

from piolet.tui.theme import Theme
from piolet.tui.theme_color import parse_color, rgb
from tests.conformance.outcome import equal
from tests.conformance.resources.world import expect


def color(case: dict[str, Any], shared: dict[str, Any]) -> None:
    def found() -> dict[str, Any]:
        literal = parse_color(case["in"]["value"])
        theme = Theme("t", "dark", {"accent": literal, "selectedBg": literal})
        return {
            "hex": rgb(literal).hex,
            "fg": theme.sequence("accent", truecolor=True),
            "fg256": theme.sequence("accent", truecolor=False),
            "bg": theme.sequence("selectedBg", truecolor=True),
        }

    if "error" in case["out"] or "(" not in str(case["in"]["value"]):
        expect(case, found)
        return
    mine, theirs = rgb(found()["hex"]), rgb(case["out"]["hex"])
    equal(all(abs(one - other) <= 1 for one, other in zip(mine, theirs, strict=True)), True, f"{mine} for {theirs}")


OPS = {"parse_color": color}
