"""What to do when the working directory of a session is gone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from piolet.harness.session.copying import fork_from, import_jsonl
from piolet.tui.select_list import Item

if TYPE_CHECKING:
    from piolet.modes.interactive.face import Face


async def open_without_folder(face: Face, path: str, why: str, *, copy: bool = False) -> bool:
    """Ask where to go on with the session at `path`, and do it; return whether it is open. `copy`: not with the file
    itself."""
    place = face.runtime.services.sessions
    cwd = place.cwd
    items: list[Item[Literal["here", "fork"] | None]] = [
        Item("here", f"Continue in {cwd}"),
        Item("fork", f"Fork into {cwd}"),
        Item(None, "Cancel"),
    ]
    chosen = await face.dialogs.choose("The session's folder is gone", items, hints=[why])
    match chosen:
        case "here":
            source = import_jsonl(path, place.folder, cwd_override=cwd) if copy else path
            return await face.opened.replacing(lambda: face.runtime.switch_session(source, cwd_override=cwd))
        case "fork":
            with fork_from(path, cwd, place.folder) as fork:
                forked = fork.path
            return forked is not None and await face.opened.replacing(lambda: face.runtime.switch_session(forked))
        case None:
            return False
