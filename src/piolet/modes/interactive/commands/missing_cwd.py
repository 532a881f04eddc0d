"""The question where to go on when the working directory of a session is gone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from piolet.tui.select_list import Item

if TYPE_CHECKING:
    from piolet.modes.interactive.face import Face


async def ask_for_folder(face: Face, why: str) -> str | None:
    """Return the folder to go on in; None to leave everything as it is."""
    cwd = str(face.runtime.services.cwd)
    return (
        await face.dialogs.choose(
            "The session's folder is gone", [Item(cwd, f"Continue in {cwd}"), Item("", "Cancel")], hints=[why]
        )
        or None
    )
