"""The theme ``system``: made of the terminal's own colours (terminal specification, section 14)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from piolet.tui.spans import Color
from piolet.tui.theme import BACKGROUND_TOKENS, SYSTEM, TOKENS, Appearance, Theme
from piolet.tui.theme_builtin import roles
from piolet.tui.theme_color import contrast, rgb, to_index

#: Between text and whatever it may stand on.
LEAST_CONTRAST: Final = 4.5

# The ANSI colour of each role; those without one are mixed of foreground and background.
_HUES = {"ice": 4, "deep": 12, "moss": 2, "rust": 1, "amber": 3, "heather": 5, "lagoon": 6}
_GRAYS = {"ink": 1.0, "soft": 0.85, "gray": 0.7, "faint": 0.6, "line": 0.35}
# Panels: how much of what lies over the background.
_PANELS: dict[str, tuple[int | None, float]] = {
    "selectedBg": (4, 0.16),
    "searchMatchBg": (3, 0.18),
    "userMessageBg": (None, 0.07),
    "customMessageBg": (5, 0.08),
    "toolPendingBg": (None, 0.05),
    "toolSuccessBg": (2, 0.07),
    "toolErrorBg": (1, 0.08),
}


def system_theme(answers: Mapping[str, str], appearance: Appearance, *, truecolor: bool = True) -> Theme:
    """Return the theme for a terminal that said what its colours are: `answers` by ``10`` (text), ``11`` (background)
    and ``4;0`` to ``4;15``, as ``#rrggbb``. One that did not say text and background is left to its own colours.
    Without `truecolor` all are such as the terminal's 256 have. A panel on which nothing could be read is left out.
    """
    ink, ground = answers.get("10"), answers.get("11")
    if ink is None or ground is None:
        return Theme(SYSTEM, appearance, _indexed())

    def hue(index: int) -> str:
        return answers.get(f"4;{index}") or _hex(rgb(index))

    def shown(color: str) -> str:
        return color if truecolor else _hex(rgb(to_index(color)))

    far, near = sorted(("#ffffff", "#000000"), key=lambda color: -contrast(color, ground))
    colors: dict[str, Color] = {}
    for token, (index, share) in _PANELS.items():
        over = ink if index is None else hue(index)
        panels = [shown(mix(ground, color, share)) for color in (over, near)]
        colors[token] = next((panel for panel in panels if contrast(far, panel) >= LEAST_CONTRAST), "")
    grounds = [ground, *(panel for panel in colors.values() if panel != "")]

    def readable(color: str) -> str:
        """Return `color`, moved to white or black as far as it must be to be read on all grounds."""
        steps = (shown(mix(color, far, step / 20)) for step in range(21))
        return next(step for step in steps if min(contrast(step, ground) for ground in grounds) >= LEAST_CONTRAST)

    ink = readable(ink)
    for token, role in roles().items():
        color = hue(_HUES[role]) if role in _HUES else mix(ground, ink, _GRAYS[role])
        colors[token] = color if role == "line" else readable(color)
    return Theme(SYSTEM, appearance, colors)


def mix(one: str, other: str, share: float) -> str:
    """Return `one` with `share` (0 to 1) of `other` in it."""
    return _hex(tuple(round(a + (b - a) * share) for a, b in zip(rgb(one), rgb(other), strict=True)))


def _hex(channels: tuple[int, ...]) -> str:
    return "#" + "".join(f"{channel:02x}" for channel in channels)


def _indexed() -> dict[str, Color]:
    """Return colours by number, which every terminal shows in its own way; text and panels stay as they are."""
    colors: dict[str, Color] = dict.fromkeys(TOKENS, "")
    for token, role in roles().items():
        if role in _HUES:
            colors[token] = _HUES[role]
        elif role in ("faint", "line"):
            colors[token] = 8
    return colors | dict.fromkeys(BACKGROUND_TOKENS, "")
