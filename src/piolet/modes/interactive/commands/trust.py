"""``/trust``: whether the project's own files may be loaded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from piolet.app.trust import TrustOption, TrustStore, trust_options
from piolet.tui.select_list import Item

if TYPE_CHECKING:
    from piolet.modes.interactive.face import Face

EXPLANATION = (
    "The project has files of its own that piolet would load: settings, extensions (which are programs), skills, "
    "prompts, themes. Load them only if you trust who wrote them. AGENTS.md and CLAUDE.md are read in any case."
)


async def ask_trust(face: Face, folder: str, options: Sequence[TrustOption]) -> TrustOption | None:
    """Ask whether the files of `folder` may be loaded; None: not in this session."""
    items = [Item(option, option.label) for option in options]
    title = "Trust project folder?"
    with face.status.blocked("permission", title):
        return await face.dialogs.choose(title, items, hints=[folder, EXPLANATION])


async def trust(face: Face, rest: str) -> None:
    """``/trust``: the decision is stored and counts from the next start on."""
    services = face.runtime.services
    store = TrustStore(services.options.agent_dir)
    stored = store.nearest(services.cwd)
    words = {True: "trusted", False: "not trusted", None: "no decision"}
    hints = [str(services.cwd), f"Stored: {words[stored]} · now: {words[services.trusted]}"]
    options = [option for option in trust_options(str(services.cwd.resolve())) if option.saves]
    items = [Item(option, option.label) for option in options]
    chosen = await face.dialogs.choose("Project trust", items, hints=hints)
    if chosen is not None:
        store.save(chosen.saves)
        face.presenter.status(f"Saved: {chosen.label}. It counts from the next start on")
