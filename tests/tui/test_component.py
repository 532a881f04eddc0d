from __future__ import annotations

from collections.abc import Callable

import pytest

from piolet.tui import ansi
from piolet.tui.component import Box, Component, Loader, Markdown, Text, dispose, handle_input, invalidate
from piolet.tui.component_input import Editor, Input, SelectList, Setting, SettingsList
from piolet.tui.keys import Key, press
from piolet.tui.select_list import Item
from piolet.tui.ui_theme import UiTheme

THEME = UiTheme({"accent": "#010203", "muted": 8, "userMessageBg": 17})
ITEMS = [Item(n, f"item {n}", "about") for n in range(4)]


def bare(component: Component, width: int = 30) -> list[str]:
    return ["".join(span.text for span in line) for text in component.render(width) for line in ansi.parse(text)]


def keys(component: Component, *names: str) -> list[bool]:
    return [handle_input(component, press(name)) for name in names]


COMPONENTS: list[Callable[[], Component]] = [
    lambda: Text("one \x1b[31mtwo three\x1b[0m 中文", padding_x=2, padding_y=1),
    lambda: Markdown("# A\n\n- b **c**\n\n```\ncode\n```", THEME),
    lambda: Box([Text("a"), Text("b")], theme=THEME, background="userMessageBg"),
    lambda: Loader("working on it", THEME),
    lambda: SelectList(ITEMS, theme=THEME),
    lambda: SettingsList(
        [Setting("k", "Label", "a", ["a", "b"], "a longer description")], lambda k, v: None, theme=THEME
    ),
    lambda: Input("some text", theme=THEME),
    lambda: Editor("some text\nmore", theme=THEME),
]


@pytest.mark.parametrize("make", COMPONENTS)
@pytest.mark.parametrize("width", [1, 2, 5, 30, 100])
def test_no_part_draws_wider_than_it_is_told(make: Callable[[], Component], width: int) -> None:
    component = make()
    assert isinstance(component, Component)
    assert all(ansi.width(line) <= width for line in component.render(width))


def test_input_reaches_only_components_that_take_it() -> None:
    assert keys(Text("a"), "enter") == [False]
    assert keys(Box([Text("a"), Input()]), "x") == [True]
    assert not handle_input(Input(), Key("a", "a", "release"))
    invalidate(Text("a"))
    dispose(Box([Text("a")]))


def test_text_is_wrapped_and_padded() -> None:
    assert Text("one two", padding_x=1, padding_y=1).render(6) == ["", " one", " two", ""]


def test_a_box_fills_its_background() -> None:
    lines = Box([Text("a")], theme=THEME, background="userMessageBg").render(6)
    assert [ansi.width(line) for line in lines] == [6, 6, 6]
    assert all(line.startswith("\x1b[48;5;17m") for line in lines)
    assert bare(Box([Text("a")])) == ["", " a", ""]


def test_the_theme_colours_and_nests() -> None:
    assert THEME.fg("accent", "x") == "\x1b[38;2;1;2;3mx\x1b[0m"
    assert THEME.bg("userMessageBg", f"a{THEME.bold('b')}c") == "\x1b[48;5;17ma\x1b[1mb\x1b[0m\x1b[48;5;17mc\x1b[0m"
    assert THEME.fg("unknown", "x") == "x"
    assert UiTheme().fg("accent", "x") == "x"
    assert [f("x") for f in (THEME.italic, THEME.underline, THEME.inverse, THEME.strikethrough)] == [
        "\x1b[3mx\x1b[0m", "\x1b[4mx\x1b[0m", "\x1b[7mx\x1b[0m", "\x1b[9mx\x1b[0m",
    ]  # fmt: skip


def test_a_loader_turns_when_it_is_told() -> None:
    loader = Loader("wait", frames="ab")
    seen = []
    for _ in range(3):
        seen += bare(loader)
        loader.tick()
    assert seen == ["a wait", "b wait", "a wait"]
    assert bare(Loader("wait", frames=())) == ["wait"]


def test_a_list_hands_out_the_value_that_is_chosen() -> None:
    chosen: list[object] = []
    component = SelectList(ITEMS, on_select=chosen.append, on_cancel=lambda: chosen.append("cancel"))
    assert keys(component, "down", "down", "up", "enter", "pageDown", "enter", "escape", "x") == [True] * 7 + [False]
    assert chosen == [1, 3, "cancel"]
    keys(SelectList([], on_select=chosen.append), "enter", "up")
    assert chosen == [1, 3, "cancel"]


def test_settings_take_their_next_value() -> None:
    changes: list[tuple[str, str]] = []
    settings = [Setting("a", "First", "off", ["off", "on"]), Setting("b", "Second", "x", ["x", "y", "z"], "of three")]
    component = SettingsList(settings, lambda key, value: changes.append((key, value)))
    keys(component, "enter", "space", "down", "space")
    assert changes == [("a", "on"), ("a", "off"), ("b", "y")]
    assert bare(component) == ["  First   off", "→ Second  y", "", "of three"]


def test_a_line_of_text_is_edited_and_sent() -> None:
    seen: list[str] = []
    component = Input("ab", on_submit=seen.append, on_change=lambda text: seen.append(f"~{text}"))
    keys(component, "c", "left", "left", "backspace", "enter", "shift+enter")
    assert seen == ["~abc", "~bc", "bc"]
    component.paste("x\ny")
    assert component.text == "x ybc"
    component.text = "new"
    assert bare(component) == ["> new "]


def test_a_long_line_scrolls_with_the_cursor() -> None:
    component = Input("0123456789" * 3, prompt="")
    assert bare(component, 10)[0].strip().endswith("789")
    keys(component, "home")
    assert bare(component, 10) == ["0123456789"]


def test_secrets_are_dots_and_an_empty_line_has_a_placeholder() -> None:
    assert bare(Input("key", masked=True)) == ["> ••• "]
    assert bare(Input(placeholder="type here")) == [">  type here"]


def test_an_editor_sends_several_lines() -> None:
    seen: list[str] = []
    component = Editor("a", on_submit=seen.append, on_cancel=lambda: seen.append("cancel"))
    keys(component, "shift+enter", "b", "enter", "escape")
    assert seen == ["a\nb", "cancel"]
