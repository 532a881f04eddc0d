from __future__ import annotations

import random

import pytest

from piolet.tui.theme import BACKGROUND_TOKENS, FOREGROUND_TOKENS, TOKENS
from piolet.tui.theme_color import contrast, rgb
from piolet.tui.theme_system import LEAST_CONTRAST, mix, system_theme
from tests.tui.test_theme import LINES

SOLARIZED = {"10": "#839496", "11": "#002b36", "4;1": "#dc322f", "4;2": "#859900", "4;4": "#268bd2", "4;12": "#839496"}
PAPER = {"10": "#444444", "11": "#fdf6e3", "4;3": "#b58900", "4;6": "#2aa198"}


def random_terminal(seed: int) -> dict[str, str]:
    dice = random.Random(seed)
    names = ["10", "11", *(f"4;{number}" for number in range(16))]
    return {name: f"#{dice.randrange(1 << 24):06x}" for name in names}


@pytest.mark.parametrize("truecolor", [True, False])
@pytest.mark.parametrize("answers", [SOLARIZED, PAPER, *map(random_terminal, range(20))])
def test_all_text_is_read_on_all_backgrounds(answers: dict[str, str], truecolor: bool) -> None:
    theme = system_theme(answers, "dark", truecolor=truecolor)
    assert set(theme.colors) == set(TOKENS)
    colors = theme.palette(truecolor=truecolor)
    grounds = [answers["11"], *(colors[token] for token in BACKGROUND_TOKENS if colors[token] != "")]
    for token in FOREGROUND_TOKENS:
        if token not in LINES:
            assert min(contrast(colors[token], ground) for ground in grounds) >= LEAST_CONTRAST, token


def test_hues_are_the_terminals_own_where_they_can_be_read() -> None:
    theme = system_theme(SOLARIZED, "dark")
    red, green, blue = rgb(theme.colors["error"])
    assert red > green
    assert red > blue
    assert theme.colors["userMessageBg"] == mix("#002b36", "#839496", 0.07)


def test_a_terminal_that_does_not_answer_keeps_its_own_colours() -> None:
    theme = system_theme({}, "dark")
    assert theme.colors["text"] == theme.colors["userMessageBg"] == ""
    assert theme.colors["error"] == 1
    assert theme.colors["dim"] == 8
