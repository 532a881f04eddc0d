"""What a page shows that is not in the session's file: themes, the system prompt, tools, what extensions draw."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from piolet.llm.model import ToolSpec
from piolet.tui.theme import Theme, choose_theme
from piolet.tui.theme_builtin import built_in_theme

if TYPE_CHECKING:
    from piolet.app.runtime import Runtime
    from piolet.harness.session.session import Session


def _built_in(name: str) -> Callable[[], Theme]:
    return lambda: built_in_theme(name)


class Surroundings(Struct, frozen=True):
    """`drawn`: what extensions draw, by tool call or entry (`piolet.app.export.drawn`)."""

    light: Theme = field(default_factory=_built_in("light"))
    dark: Theme = field(default_factory=_built_in("dark"))
    prompt: str = ""
    tools: Sequence[ToolSpec] = ()
    drawn: Mapping[str, Any] = {}


def surroundings(runtime: Runtime, session: Session, prompt: str = "", tools: Sequence[ToolSpec] = ()) -> Surroundings:
    """Return what the settings and extensions of `runtime` bring to the page of `session`.

    A theme of the user stands in for the built-in one of its appearance.
    """
    from piolet.app.export.drawn import drawn

    themes = {"light": built_in_theme("light"), "dark": built_in_theme("dark")}
    setting = runtime.services.settings.theme
    loaded = runtime.services.resources.themes if setting else {}
    for name in (choose_theme(setting, "light"), choose_theme(setting, "dark")):
        if name in loaded:
            themes[loaded[name].theme.appearance] = loaded[name].theme
    return Surroundings(themes["light"], themes["dark"], prompt, tools, drawn(session, runtime.extensions))
