"""Which theme a setting means, and what COLORFGBG says."""

from __future__ import annotations

from typing import Any

from piolet.tui.theme import appearance_from_colorfgbg, choose_theme
from tests.conformance.resources.world import expect


def theme_setting(case: dict[str, Any], shared: dict[str, Any]) -> None:
    expect(case, lambda: choose_theme(case["in"]["setting"], case["in"]["terminal"]))


def colorfgbg(case: dict[str, Any], shared: dict[str, Any]) -> None:
    expect(case, lambda: appearance_from_colorfgbg(case["in"]["value"]))


OPS = {"theme_setting": theme_setting, "colorfgbg": colorfgbg}
