"""``/thinking``: how much the model thinks before it answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from piolet.app.settings import Settings
from piolet.llm.messages import ThinkingLevel
from piolet.tui.completion import Suggestion
from piolet.tui.panels.list_panel import ListPanel
from piolet.tui.select_list import Item

if TYPE_CHECKING:
    from piolet.modes.interactive.face import Face

DESCRIPTIONS: dict[ThinkingLevel, str] = {
    "off": "answers at once",
    "minimal": "a moment, about 1k tokens",
    "low": "a little, about 2k tokens",
    "medium": "some, about 8k tokens",
    "high": "much, about 16k tokens",
    "xhigh": "very much",
    "max": "as much as the model can",
}


async def thinking(face: Face, rest: str) -> None:
    """``/thinking [LEVEL]``"""
    levels = face.runtime.session.thinking_levels
    if not rest:
        await select_level(face)
    elif (level := next((level for level in levels if level == rest.lower()), None)) is not None:
        await use(face, level)
    else:
        face.presenter.error(f"This model has no thinking level {rest!r}; it has: {', '.join(levels)}")


async def complete_level(face: Face, prefix: str) -> Sequence[Suggestion]:
    """Complete a level."""
    levels = [level for level in face.runtime.session.thinking_levels if level.startswith(prefix.lower())]
    return [Suggestion(level, level, DESCRIPTIONS[level]) for level in levels]


async def select_level(face: Face) -> None:
    """Show the levels that the model has, and use the one that is chosen."""
    session = face.runtime.session
    items = [
        Item(level, level, DESCRIPTIONS[level], level == session.thinking_level) for level in session.thinking_levels
    ]

    def panel(done: Callable[[tuple[ThinkingLevel, bool] | None], None]) -> ListPanel[ThinkingLevel]:
        save = face.keymap.label("app.thinking.save")
        return ListPanel(
            "Thinking level",
            items,
            lambda level: done((level, False)),
            lambda: done(None),
            keymap=face.keymap,
            hints=[f"Enter use · {save} use and make the default"] if save else [],
            actions={"app.thinking.save": lambda level: done((level, True))},
        )

    chosen = await face.ask(panel)
    if chosen is not None:
        level, save = chosen
        await use(face, level)
        if save:
            face.runtime.services.files.set(Settings.default_thinking_level, level)


async def use(face: Face, level: ThinkingLevel) -> None:
    """Use `level` from the next request on."""
    await face.runtime.session.harness.set_thinking_level(level)
    face.presenter.status(f"Thinking level: {face.runtime.session.thinking_level}")


async def cycle(face: Face) -> None:
    """Use the next level that the model has."""
    level = await face.runtime.session.cycle_thinking_level()
    if level is None:
        face.presenter.status("This model does not think")
    else:
        face.presenter.status(f"Thinking level: {level}")


def level_words(face: Face) -> str:
    """Return ``(thinking: high)`` for a model that thinks."""
    session = face.runtime.session
    return f" (thinking: {session.thinking_level})" if session.model and session.model.reasoning else ""
