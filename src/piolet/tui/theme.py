"""Themes as data: tokens, reading a theme file's value, which theme a setting means. Pure.

Source of the rules: the resources specification, section 7.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from piolet.tui.spans import Color
from piolet.tui.theme_color import ColorError, luminance, parse_color, rgb, to_index

Appearance: TypeAlias = Literal["dark", "light"]

BACKGROUND_TOKENS = (
    "selectedBg",
    "searchMatchBg",
    "userMessageBg",
    "customMessageBg",
    "toolPendingBg",
    "toolSuccessBg",
    "toolErrorBg",
)
_FOREGROUNDS = """
accent border borderAccent borderMuted success error warning muted dim text thinkingText scrollbarTrack scrollbarThumb
searchMatchText userMessageText customMessageText customMessageLabel toolTitle toolOutput mdHeading mdLink mdLinkUrl
mdCode mdCodeBlock mdCodeBlockBorder mdQuote mdQuoteBorder mdHr mdListBullet toolDiffAdded toolDiffRemoved
toolDiffContext syntaxComment syntaxKeyword syntaxFunction syntaxVariable syntaxString syntaxNumber syntaxType
syntaxOperator syntaxPunctuation thinkingOff thinkingMinimal thinkingLow thinkingMedium thinkingHigh thinkingXhigh
thinkingMax bashMode
"""
FOREGROUND_TOKENS = tuple(_FOREGROUNDS.split())
#: Tokens that a theme may leave out, with the token that stands in.
FALLBACKS = {
    "scrollbarTrack": "muted",
    "scrollbarThumb": "text",
    "searchMatchBg": "selectedBg",
    "searchMatchText": "text",
    "thinkingMax": "thinkingXhigh",
}
TOKENS = FOREGROUND_TOKENS + BACKGROUND_TOKENS
EXPORT_COLORS = ("pageBg", "cardBg", "infoBg")
SYSTEM = "system"

_KEYS = ("$schema", "name", "appearance", "vars", "colors", "export")
# The luminance between dark and light, where Oklab's lightness is one half.
_MIDDLE = 0.125


class ThemeError(ValueError):
    """A value that is no theme; the text names the key or token and says why."""


class Theme(Struct, frozen=True):
    """A theme. `colors`: a literal colour for every token; `export`: those that the HTML export uses, if given."""

    name: str
    appearance: Appearance
    colors: Mapping[str, Color]
    export: Mapping[str, Color] = {}

    def palette(self, *, truecolor: bool) -> Mapping[str, Color]:
        """Return the colours as a terminal can show them: without `truecolor` as the nearest of 256."""
        return self.colors if truecolor else {token: indexed(color) for token, color in self.colors.items()}

    def sequence(self, token: str, *, truecolor: bool) -> str:
        """Return the escape sequence that turns on the colour of `token`. KeyError for an unknown token."""
        color, base = self.colors[token], 48 if token in BACKGROUND_TOKENS else 38
        if color == "":
            return f"\x1b[{base + 1}m"
        if truecolor and isinstance(color, str):
            return f"\x1b[{base};2;{';'.join(map(str, rgb(color)))}m"
        return f"\x1b[{base};5;{to_index(color)}m"


def indexed(color: Color) -> Color:
    """Return a literal colour as an index; the terminal's default stays."""
    return color if color == "" else to_index(color)


def parse_theme(value: Any) -> Theme:
    """Return the theme that the JSON of a theme file holds. Raises `ThemeError`; unknown keys are errors."""
    _check_keys(value, _KEYS, "the theme")
    name = value.get("name")
    if not isinstance(name, str) or not name or "/" in name or name == SYSTEM:
        raise ThemeError(f"name is {name!r}: it must be a text without a slash, and not {SYSTEM!r}")
    if not isinstance(value.get("$schema", ""), str):
        raise ThemeError("$schema is no text")
    variables = value.get("vars", {})
    if not isinstance(variables, dict):
        raise ThemeError("vars is no object")
    given = value.get("colors")
    _check_keys(given, TOKENS, "colors")
    missing = [token for token in TOKENS if token not in given and token not in FALLBACKS]
    if missing:
        raise ThemeError(f"colors lacks {', '.join(missing)}")
    colors = {token: _literal(token, color, variables) for token, color in given.items()}
    for token, fallback in FALLBACKS.items():
        colors.setdefault(token, colors[fallback])
    export = value.get("export", {})
    _check_keys(export, EXPORT_COLORS, "export")
    appearance = value.get("appearance")
    if appearance not in (None, "dark", "light"):
        raise ThemeError(f"appearance is {appearance!r}: it must be dark or light")
    return Theme(
        name,
        appearance or _appearance_of(colors),
        colors,
        {key: _literal(key, color, variables) for key, color in export.items()},
    )


def choose_theme(setting: str | None, appearance: Appearance) -> str | None:
    """Return the name that the setting ``theme`` means: itself, or one of a pair ``light/dark``; None if it is bad."""
    if not setting or "/" not in setting:
        return setting or None
    light, _, dark = setting.partition("/")
    if "/" in dark or not light.strip() or not dark.strip():
        return None
    return light.strip() if appearance == "light" else dark.strip()


def appearance_from_colorfgbg(value: str) -> Appearance | None:
    """Return what the variable ``COLORFGBG`` says about the background: its last field is an ANSI colour."""
    background = value.rpartition(";")[2]
    if not (background.isascii() and background.isdigit()) or int(background) > 15:
        return None
    return "light" if int(background) in (7, *range(9, 16)) else "dark"


def _check_keys(value: Any, allowed: Iterable[str], where: str) -> None:
    if not isinstance(value, dict):
        raise ThemeError(f"{where} is no object" if value is not None else f"{where} is missing")
    unknown = [str(key) for key in value if key not in allowed]
    if unknown:
        raise ThemeError(f"{where} has unknown keys: {', '.join(unknown)}")


def _literal(token: str, value: Any, variables: Mapping[str, Any]) -> Color:
    """Follow variables to a literal colour."""
    seen: list[str] = []
    while isinstance(value, str) and value in variables:
        if value in seen:
            raise ThemeError(f"{token}: the variables {' -> '.join([*seen, value])} form a circle")
        seen.append(value)
        value = variables[value]
    if value == "":
        return ""
    try:
        return parse_color(value)
    except ColorError as error:
        hint = ", and vars has no such name" if isinstance(value, str) else ""
        raise ThemeError(f"{token}: {error}{hint}") from None


def _appearance_of(colors: Mapping[str, Color]) -> Appearance:
    """Guess: text is darker than what lies beneath it in a light theme; if only one is known, the middle decides."""
    front = _mean_luminance(colors[token] for token in FOREGROUND_TOKENS)
    back = _mean_luminance(colors[token] for token in BACKGROUND_TOKENS)
    if front is not None and back is not None and front != back:
        return "light" if front < back else "dark"
    if front is not None:
        return "light" if front < _MIDDLE else "dark"
    return "light" if back is not None and back > _MIDDLE else "dark"


def _mean_luminance(colors: Iterable[Color]) -> float | None:
    known = [luminance(color) for color in colors if color != ""]
    return sum(known) / len(known) if known else None
