from __future__ import annotations

import pytest

from piolet.tui.terminal_caps import CapsChoice, detect, has_sixel, read_cell, read_color


@pytest.mark.parametrize(
    ("env", "colors"),
    [
        ({"TERM": "xterm-256color"}, "256"),
        ({"TERM": "xterm-256color", "COLORTERM": "truecolor"}, "truecolor"),
        ({"TERM": "xterm-256color", "COLORTERM": "24bit"}, "truecolor"),
        ({"TERM": "xterm-kitty"}, "truecolor"),
        ({"TERM": "tmux-256color", "TERM_PROGRAM": "tmux"}, "256"),
        ({"TERM": "xterm", "COLORTERM": "truecolor", "NO_COLOR": "1"}, "none"),
        ({"TERM": "xterm", "NO_COLOR": ""}, "256"),
        ({"TERM": "dumb"}, "none"),
        ({"TERM": "xterm", "PI_TRUE_COLOR": "1"}, "truecolor"),
        ({"TERM": "xterm", "COLORTERM": "truecolor", "PI_TRUE_COLOR": "0"}, "256"),
        ({}, "256"),
    ],
)
def test_colour_depth_follows_the_environment(env: dict[str, str], colors: str) -> None:
    assert detect(env).colors == colors


@pytest.mark.parametrize(
    ("env", "links"),
    [
        ({"TERM": "xterm-256color"}, False),
        ({"TERM": "xterm-256color", "VTE_VERSION": "7200"}, True),
        ({"TERM": "xterm-256color", "VTE_VERSION": "4200"}, False),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "WezTerm"}, True),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "WezTerm", "TMUX": "/tmp/x"}, False),
        ({"TERM": "xterm-256color", "PI_HYPERLINKS": "1"}, True),
        ({"TERM": "xterm-kitty", "PI_HYPERLINKS": "0"}, False),
    ],
)
def test_links_are_used_where_they_are_known_to_work(env: dict[str, str], links: bool) -> None:
    assert detect(env).hyperlinks is links


@pytest.mark.parametrize(
    ("env", "protocol"),
    [
        ({"TERM": "xterm-kitty"}, "kitty"),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "ghostty"}, "kitty"),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "iTerm.app"}, "iterm2"),
        ({"TERM": "foot"}, "sixel"),
        ({"TERM": "xterm-256color"}, "none"),
        ({"TERM": "xterm-kitty", "TMUX": "x"}, "none"),
        ({"TERM": "screen-256color", "KITTY_WINDOW_ID": "1"}, "none"),
        ({"TERM": "xterm-kitty", "PI_IMAGE_PROTOCOL": "none"}, "none"),
        ({"TERM": "xterm", "PI_IMAGE_PROTOCOL": "sixel"}, "sixel"),
        ({"TERM": "xterm-256color", "LC_TERMINAL": "iTerm2"}, "iterm2"),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "WezTerm"}, "kitty"),
        ({"TERM": "xterm-kitty", "NO_COLOR": "1"}, "none"),
        ({"TERM": "dumb", "TERM_PROGRAM": "iTerm.app"}, "none"),
        ({"TERM": "xterm", "TMUX": "x", "NO_COLOR": "1", "PI_IMAGE_PROTOCOL": "kitty"}, "kitty"),
    ],
)
def test_pictures_are_drawn_where_a_protocol_is_known(env: dict[str, str], protocol: str) -> None:
    assert detect(env).images == protocol


def test_settings_win_over_a_guess_and_variables_over_settings() -> None:
    env = {"TERM": "xterm-256color"}
    choice = CapsChoice(true_color=True, hyperlinks=True, images="kitty")
    caps = detect(env, choice)
    assert (caps.colors, caps.hyperlinks, caps.images) == ("truecolor", True, "kitty")
    said = {"PI_TRUE_COLOR": "no", "PI_HYPERLINKS": "off", "PI_IMAGE_PROTOCOL": "iterm2"}
    caps = detect(env | said, choice)
    assert (caps.colors, caps.hyperlinks, caps.images) == ("256", False, "iterm2")


@pytest.mark.parametrize(
    ("reply", "color"),
    [
        ("\x1b]11;rgb:1e1e/2020/ffff\x07", ("11", "#1e20ff")),
        ("\x1b]10;rgb:f/0/8\x1b\\", ("10", "#ff0088")),
        ("\x1b]4;7;rgba:ff/80/00/ff\x07", ("4;7", "#ff8000")),
        ("\x1b]11;#AABBCC\x07", ("11", "#aabbcc")),
        ("\x1b]0;title\x07", None),
        ("\x1b[?1u", None),
    ],
)
def test_colour_replies_are_read(reply: str, color: tuple[str, str] | None) -> None:
    assert read_color(reply) == color


def test_sixel_is_told_by_the_attributes() -> None:
    assert has_sixel("\x1b[?62;4;22c")
    assert not has_sixel("\x1b[?64;1;2c")
    assert not has_sixel("\x1b[?4c")


@pytest.mark.parametrize(
    ("env", "protocol"),
    [
        ({"TERM": "xterm-256color"}, "sixel"),
        ({"TERM": "xterm-kitty"}, "kitty"),
        ({"TERM": "tmux-256color"}, "none"),
        ({"TERM": "xterm", "PI_IMAGE_PROTOCOL": "none"}, "none"),
    ],
)
def test_a_terminal_that_says_so_draws_sixels_if_nothing_better_is_known(env: dict[str, str], protocol: str) -> None:
    assert detect(env, sixel=True).images == protocol


def test_the_size_of_a_cell_is_told_height_first() -> None:
    assert read_cell("\x1b[6;20;10t") == (10, 20)
    assert read_cell("\x1b[4;600;800t") is None
    assert read_cell("\x1b[6;0;10t") is None
