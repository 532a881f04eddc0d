"""The page about the screen lists what there is."""

from __future__ import annotations

from pathlib import Path

from piolet.modes.interactive.commands.table import COMMANDS
from piolet.modes.interactive.hotkeys import hotkeys
from piolet.tui.keymap import DEFAULT_KEYS, Keymap

PAGE = (Path(__file__).parents[2] / "docs" / "terminal.md").read_text(encoding="utf-8")


def test_every_command_is_listed_with_what_it_does() -> None:
    for command in COMMANDS:
        name = f"/{command.name} {command.hint}".strip()
        assert (f"| `{name}` | {command.description} |" in PAGE) is not command.hidden, name


def test_every_key_is_listed_with_what_it_does() -> None:
    for action, keys in DEFAULT_KEYS.items():
        listed = ", ".join(f"`{key}`" for key in keys) or "none"
        assert f"| `{action}` | {listed} |" in PAGE, action
    for _, _, text in hotkeys(Keymap()):
        assert f"| {text} |" in PAGE, text
