"""A slash command that is not there: it is not sent to the model before the user was asked."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import TYPE_CHECKING

from piolet.modes.interactive.commands.table import COMMANDS
from piolet.tui.select_list import Item

if TYPE_CHECKING:
    from piolet.modes.interactive.face import Face


async def ask_about_unknown(face: Face, name: str, known: Iterable[str]) -> str | None:
    """Return the command that is meant, `name` itself to send the text as it is, None to write on."""
    names = [*(command.name for command in COMMANDS), *known]
    items = [Item(meant, f"Run /{meant}") for meant in get_close_matches(name, names, n=1, cutoff=0.5)]
    items += [Item(name, "Send it to the model as it is"), Item("", "Back to the editor")]
    title = f"There is no command /{name}." + (" Did you mean this?" if len(items) > 2 else "")
    return await face.dialogs.choose(title, items) or None
