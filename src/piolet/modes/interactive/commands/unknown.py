"""A slash command that is not there: it is not sent to the model before the user was asked."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import TYPE_CHECKING

from piolet.modes.interactive.commands.table import COMMANDS
from piolet.tui.fuzzy import rank
from piolet.tui.select_list import Item

if TYPE_CHECKING:
    from piolet.modes.interactive.face import Face

_BACK = ""

#: What other programs call our commands.
_ELSEWHERE = {"help": "hotkeys", "?": "hotkeys", "exit": "quit", "clear": "new", "config": "settings"}


async def ask_about_unknown(face: Face, name: str, known: Iterable[str]) -> str | None:
    """Return the command that is meant, `name` itself to send the text as it is, None to write on."""
    meant = nearest(name, known)
    items = [Item(_BACK, "Back to the editor"), Item(name, "Send it to the model as it is")]
    if meant is not None:
        about = next((command.description for command in COMMANDS if command.name == meant), "")
        items.insert(0, Item(meant, f"Run /{meant}", about))
    title = f"There is no command /{name}." + (" Did you mean this?" if meant is not None else "")
    return await face.dialogs.choose(title, items) or None


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the command that is most like `name`: what is called so elsewhere, a slip of the fingers, or letters in
    their order; None if there is none. `known`: those beside our own."""
    names = [*(command.name for command in COMMANDS if not command.hidden), *known]
    if name.lower() in _ELSEWHERE:
        return _ELSEWHERE[name.lower()]
    found = get_close_matches(name, names, n=1, cutoff=0.6) or rank(name, names, str)
    return found[0] if found else None
