from __future__ import annotations

from piolet.tui.keymap import DEFAULT_KEYS, Keymap, default_keys
from piolet.tui.keys import Key, press, valid


def test_all_ninety_actions_have_valid_default_keys() -> None:
    assert len(DEFAULT_KEYS) == 90
    assert all(valid(key) for keys in DEFAULT_KEYS.values() for key in keys)


def test_windows_and_macos_differ_where_the_terminal_takes_keys() -> None:
    assert default_keys("wsl")["app.message.followUp"] == ("ctrl+q",)
    assert default_keys("windows")["app.suspend"] == ()
    assert default_keys("wsl")["app.suspend"] == ("ctrl+z",)
    assert default_keys("darwin")["app.tree.foldOrUp"] == ("alt+left", "ctrl+left")


def test_a_key_is_found_under_any_order_of_its_modifiers() -> None:
    assert Keymap().matches(press("ctrl+shift+p"), "app.model.cycleBackward")
    assert Keymap().keys("app.model.cycleBackward") == ("shift+ctrl+p",)


def test_the_context_decides_what_a_key_means() -> None:
    keymap = Keymap()
    assert keymap.action(press("ctrl+d"), ["tui.editor."]) == "tui.editor.deleteCharForward"
    assert keymap.action(press("ctrl+d"), ["app.exit", "tui.editor."]) == "app.exit"
    assert keymap.action(press("ctrl+d"), ["app.tree.filter."]) == "app.tree.filter.default"
    assert keymap.action(press("x"), ["app.", "tui."]) is None


def test_an_unbound_action_has_no_key_and_a_release_no_action() -> None:
    keymap = Keymap({**DEFAULT_KEYS, "app.exit": ()})
    assert keymap.keys("app.exit") == ()
    assert keymap.label("app.exit") == ""
    assert not keymap.matches(press("ctrl+d"), "app.exit")
    assert not keymap.matches(Key("enter", kind="release"), "tui.input.submit")
